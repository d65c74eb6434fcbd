/* SPDX-License-Identifier: MIT */
#define OWN __attribute__((no_instrument_function, patchable_function_entry(0)))

static unsigned long nr_enters, nr_exits;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);
unsigned long own_enters(void);
unsigned long own_exits(void);

OWN void __cyg_profile_func_enter(void *function, void *caller)
{
	nr_enters += function && caller;
}

OWN void __cyg_profile_func_exit(void *function, void *caller)
{
	nr_exits += function && caller;
}

OWN unsigned long own_enters(void)
{
	return nr_enters;
}

OWN unsigned long own_exits(void)
{
	return nr_exits;
}
