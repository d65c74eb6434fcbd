/* SPDX-License-Identifier: MIT */
/*
 * A program writes down its own calls, which a test compares with the recorded ones: lines
 * `DEPTH NAME` in the order of the calls, printed at its end.
 *
 *	int f(int n) { CALL; ...; return BACK(value); }
 *
 * In C++ `CALL` is enough: the call ends with the scope, exceptions included.
 */
#ifndef TREE_H
#define TREE_H

#include <stdio.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0), no_instrument_function))
#define NOINLINE __attribute__((noinline))
#define INLINED	 __attribute__((always_inline, no_instrument_function)) inline

static struct {
	int depth;
	const char *name;
} tree_calls[20000];
static int tree_count, tree_depth;

static INLINED void tree_call(const char *name)
{
	tree_calls[tree_count].depth = tree_depth++;
	tree_calls[tree_count++].name = name;
}

#ifdef __cplusplus
struct tree_scope {
	INLINED tree_scope(const char *name)
	{
		tree_call(name);
	}
	INLINED ~tree_scope()
	{
		tree_depth--;
	}
};
#define CALL tree_scope scope_here(__func__)
#else
#define CALL tree_call(__func__)
#define BACK(value)                                                                                \
	({                                                                                         \
		__typeof__(value) value_here = (value);                                            \
		tree_depth--;                                                                      \
		value_here;                                                                        \
	})
#endif

static NOTRACE void tree_print(void)
{
	int i;

	for (i = 0; i < tree_count; i++)
		printf("%d %s\n", tree_calls[i].depth, tree_calls[i].name);
}

/* When main() has returned, so that its own return is recorded. */
static NOTRACE __attribute__((destructor)) void tree_end(void)
{
	tree_print();
}

#endif
