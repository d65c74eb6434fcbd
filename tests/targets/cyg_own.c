/* SPDX-License-Identifier: MIT */
/*
 * For -finstrument-functions: the program's own functions of that purpose must be called as often
 * as without an engine. They are in this file (-DINSIDE; then the program is not traced by them) or
 * in a shared object (cyg_own_lib.c; then the engine's come first, and call on). A function that
 * returns, and one that longjmp() leaves.
 */
#include <setjmp.h>

#include "target.h"

unsigned long own_enters(void);
unsigned long own_exits(void);

#ifdef INSIDE
#include "cyg_own_lib.c"
#endif

static jmp_buf back;

static NOINLINE int returns(int n)
{
	COUNTED;
	return n + 1;
}

static NOINLINE void jumps(int n)
{
	COUNTED;
	if (returns(n))
		longjmp(back, 1);
}

int main(void)
{
	volatile int i;
	int sum = 0;

	COUNTED;
	for (i = 0; i < 1000; i++)
		sum += returns(i);
	for (i = 0; i < 10; i++)
		if (!setjmp(back))
			jumps(i);
	print_counts();
	/* main and jumps() have not come to their exits */
	return own_enters() == 1 + 1000 + 20 && own_exits() == 1000 + 10 ? 0 : 1;
}
