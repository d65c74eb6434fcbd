/* SPDX-License-Identifier: MIT */
/*
 * likely() and unlikely(), with counts of how often they are right.
 *
 *	if (unlikely(error))
 *		return error;
 *
 * The compiler gets the expectation, as from __builtin_expect(). Each likely() or unlikely() is
 * also a site: one instruction that does nothing. While the tracer `branch` or the option `branch`
 * is on, the site leads to a counter and a record. trace_stat/branch_annotated shows how often each
 * one was right, the worst first; `trace` has a line for each time that one ran. The program links
 * nothing.
 *
 * Any context, signal handlers included. A condition is evaluated once. They cannot be used outside
 * functions or in constexpr functions. If VESTIGE_BRANCH_OFF is defined before this header, only
 * the expectation is left. In C++ a likely() or unlikely() is listed after it has run for the first
 * time.
 *
 * With -DVESTIGE_BRANCH_ALL each `if` of a C source behind this header is counted too, in
 * trace_stat/branch_all; it makes no records.
 */
#ifndef VESTIGE_BRANCH_H
#define VESTIGE_BRANCH_H
#pragma GCC system_header

#include <vestige/static_branch.h>

/*
 * One condition in the source. The program defines the struct, libvestige counts in it. New members
 * are added at its end alone.
 */
struct vestige_branch {
	unsigned int bytes; /* of this struct */
	unsigned int line;
	unsigned int kind; /* enum vestige_branch_kind */
	int expected;	   /* likely(): 1; unlikely(): 0 */
	const char *func;
	const char *file;
	unsigned long correct, incorrect; /* VESTIGE_BRANCH_IF: times that it was false, true */
	unsigned long constant;		  /* times that the compiler knew the condition */
};

enum vestige_branch_kind {
	VESTIGE_BRANCH_ANNOTATED = 1, /* likely(), unlikely() */
	VESTIGE_BRANCH_IF = 2,	      /* an `if`, with VESTIGE_BRANCH_ALL */
};

/* clang-format off */
#ifdef VESTIGE_BRANCH_OFF

#define VESTIGE_BRANCH_(x, expect) __builtin_expect(!!(x), expect)
#define VESTIGE_BRANCH_IF_(x)	   (x)

#else

__attribute__((noinline, cold)) static VESTIGE_NOTRACE_ void
vestige_branch_update_(struct vestige_branch *b, int value, int constant)
{
	const struct vestige_events_api *api;

	__asm__(".weak vestige_events_1\n\tmovq vestige_events_1@GOTPCREL(%%rip), %0" : "=r"(api));
	/* the member is newer than the table */
	if (api && api->bytes > offsetof(struct vestige_events_api, branch))
		api->branch(b, value, constant);
}

#define VESTIGE_BRANCH_OF_(kind, expect)                                                           \
	{sizeof(struct vestige_branch), __LINE__, kind, expect, __func__, __FILE__, 0, 0, 0}

#ifndef __cplusplus
#define VESTIGE_BRANCH_DATA_(n, kind, expect)                                                      \
	static struct vestige_branch vestige_b_ = VESTIGE_BRANCH_OF_(kind, expect)
#define VESTIGE_BRANCH_AT_(n) vestige_b_
#define VESTIGE_BRANCH_DEFINE_(n, kind, expect) (void)0
#else
/*
 * A static variable of an inline function may be another object's, and then its address is no
 * constant. So the data is this source's, and gets its name when it first runs.
 */
namespace
{
template <int N> struct vestige_branch_of_ {
	static struct vestige_branch at;
};
template <int N> struct vestige_branch vestige_branch_of_<N>::at;

__attribute__((noinline, cold)) VESTIGE_NOTRACE_ void
vestige_branch_define_(struct vestige_branch &b, unsigned int kind, int expected, const char *func,
		       const char *file, unsigned int line)
{
	b.line = line;
	b.kind = kind;
	b.expected = expected;
	b.func = func;
	b.file = file;
	__atomic_store_n(&b.bytes, (unsigned int)sizeof(b), __ATOMIC_RELEASE);
}
}
#define VESTIGE_BRANCH_DATA_(n, kind, expect)
#define VESTIGE_BRANCH_AT_(n) (vestige_branch_of_<n>::at)
#define VESTIGE_BRANCH_DEFINE_(n, kind, expect)                                                    \
	vestige_branch_define_(VESTIGE_BRANCH_AT_(n), kind, expect, __func__, __FILE__, __LINE__)
#endif

#define VESTIGE_BRANCH_COUNT_(n, kind, x, expect, constant)                                        \
	__extension__({                                                                            \
		__label__ yes, end;                                                                \
		VESTIGE_BRANCH_DATA_(n, kind, expect);                                             \
		int vestige_on_, vestige_v_;                                                       \
		__asm__ goto(VESTIGE_PLACE_("vestige_branch_sites", "6", "%c0")                        \
			     : : "i"(&VESTIGE_BRANCH_AT_(n)) : "cc" : yes);                                   \
		vestige_on_ = 0;                                                                   \
		goto end;                                                                          \
	yes:                                                                                       \
		vestige_on_ = 1;                                                                   \
	end:                                                                                       \
		vestige_v_ = !!(x);                                                                \
		__builtin_expect(vestige_on_, 0)                                                   \
			? (VESTIGE_BRANCH_DEFINE_(n, kind, expect),                                  \
			   vestige_branch_update_(&VESTIGE_BRANCH_AT_(n), vestige_v_, constant))              \
			: (void)0;                                                                 \
		vestige_v_;                                                                        \
	})

#define VESTIGE_BRANCH_(x, expect)                                                                 \
	__builtin_expect(VESTIGE_BRANCH_COUNT_(__COUNTER__, VESTIGE_BRANCH_ANNOTATED, x, expect,   \
					       __builtin_constant_p(!!(x))), expect)
#define VESTIGE_BRANCH_IF_(x)                                                                      \
	(__builtin_constant_p(x) ? (x)                                                             \
				 : VESTIGE_BRANCH_COUNT_(0, VESTIGE_BRANCH_IF, x, 0, 0))
#endif

/**
 * likely() - a condition that is mostly true. unlikely() - a condition that is mostly false.
 * @x: an expression that `if` accepts.
 *
 * Value: 1 or 0.
 */
#ifndef likely
#define likely(x)   VESTIGE_BRANCH_(x, 1)
#endif
#ifndef unlikely
#define unlikely(x) VESTIGE_BRANCH_(x, 0)
#endif

#if defined(VESTIGE_BRANCH_ALL) && !defined(__cplusplus)
#define if(cond, ...) if (VESTIGE_BRANCH_IF_(!!(cond, ##__VA_ARGS__)))
#endif
/* clang-format on */

#endif
