/* SPDX-License-Identifier: MIT */
/*
 * libc.h for libvestige.a. In glibc's libc.a the functions that the engine replaces are weak
 * aliases of other names, so both fit into one program. A name that a program may lack is weak
 * here. Whether a function is the program's own or libc's is found out by a neighbour in libc's
 * object file: _mcount is defined beside mcount and __fentry__. The C++ runtime's, the unwinder's
 * and Boost.Context's functions have no second name: for those the program is linked with --wrap
 * (vestige.pc). No state. Tests: tests/engine/targets (static-*).
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>
#include <unwind.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/libc.h"

#define WEAK __attribute__((weak, visibility("default")))

extern const ptrdiff_t __rseq_offset WEAK;
extern const unsigned int __rseq_size WEAK;
void _mcount(void) WEAK;
void mcount(void) WEAK;
void __fentry__(void) WEAK;
void __gmon_start__(void) WEAK;
void __cyg_profile_func_enter(void *function, void *caller) WEAK;
int __pthread_create_2_1(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __pthread_setname_np(pthread_t, const char *);
int __prctl(int, ...);
long __real_syscall(long, ...) WEAK;
void __libc_longjmp(struct __jmp_buf_tag *, int);
void __libc_siglongjmp(struct __jmp_buf_tag *, int);
void __makecontext(ucontext_t *, void (*)(void), int, ...);
int __sigaltstack(const stack_t *, stack_t *);
int __clone(int (*)(void *), void *, int, void *, ...);
int __backtrace(void **, int);
void *__real___cxa_begin_catch(void *) WEAK;
void __real_make_fcontext(void) WEAK;
_Unwind_Reason_Code __real__Unwind_Backtrace(_Unwind_Trace_Fn, void *) WEAK;
extern void *__libc_stack_end WEAK;
_Unwind_Ptr _Unwind_GetIP(struct _Unwind_Context *) WEAK;
_Unwind_Word _Unwind_GetCFA(struct _Unwind_Context *) WEAK;
const void *_Unwind_Find_FDE(void *, void *) WEAK; /* of libgcc, in none of its headers */

/* Symbols of the linker; scripts/one-object puts the engine's code into this section. */
extern const char __start_vestige_text[] __attribute__((visibility("hidden")));
extern const char __stop_vestige_text[] __attribute__((visibility("hidden")));

const int libc_is_static = 1;

int libc_is_late(void)
{
	return 0;
}

struct name {
	const char *name;
	const void *at;
};

static void *find(const struct name *names, size_t n, const char *name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (str_equal(names[i].name, name))
			return (void *)(uintptr_t)names[i].at;
	return NULL;
}

void *libc_symbol(const char *name)
{
	const struct name names[] = {
		{"__rseq_offset", &__rseq_offset},
		{"__rseq_size", &__rseq_size},
		{"__gmon_start__", (const void *)__gmon_start__},
		{"__fentry__", _mcount ? (const void *)__fentry__ : NULL},
		{"mcount", _mcount == mcount ? (const void *)mcount : NULL},
		{"__cyg_profile_func_enter", (const void *)__cyg_profile_func_enter},
		{"__libc_stack_end", &__libc_stack_end},
		{"_Unwind_GetIP", (const void *)_Unwind_GetIP},
		{"_Unwind_GetCFA", (const void *)_Unwind_GetCFA},
		{"_Unwind_Find_FDE", (const void *)_Unwind_Find_FDE},
	};

	return find(names, ARRAY_SIZE(names), name);
}

void *libc_next(const char *name)
{
	const struct name names[] = {
		{"pthread_create", (const void *)__pthread_create_2_1},
		{"pthread_setname_np", (const void *)__pthread_setname_np},
		{"prctl", (const void *)__prctl},
		{"syscall", (const void *)__real_syscall},
		{"longjmp", (const void *)__libc_longjmp},
		{"siglongjmp", (const void *)__libc_siglongjmp},
		/*
		 * without _FORTIFY_SOURCE's check of the target: libc's own function has no other
		 * name
		 */
		{"__longjmp_chk", (const void *)__libc_siglongjmp},
		{"makecontext", (const void *)__makecontext},
		{"make_fcontext", (const void *)__real_make_fcontext},
		{"clone", (const void *)__clone},
		{"sigaltstack", (const void *)__sigaltstack},
		{"backtrace", (const void *)__backtrace},
		{"__cxa_begin_catch", (const void *)__real___cxa_begin_catch},
		{"_Unwind_Backtrace", (const void *)__real__Unwind_Backtrace},
	};

	return find(names, ARRAY_SIZE(names), name);
}

void *libc_own(const char *name)
{
	return libc_next(name);
}

void libc_find_rows(const void *(*find_one)(uint64_t pc, uint64_t *lo, uint64_t *hi))
{
	(void)find_one;
}

int libc_owns(const void *p)
{
	return p != NULL;
}

void libc_own_text(uint64_t *lo, uint64_t *hi)
{
	*lo = (uint64_t)__start_vestige_text;
	*hi = (uint64_t)__stop_vestige_text;
}

void *libc_anywhere(const char *name)
{
	void *found = libc_next(name);

	return found ? found : libc_symbol(name);
}
