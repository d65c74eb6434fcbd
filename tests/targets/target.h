/* SPDX-License-Identifier: MIT */
/*
 * What the target programs share: each counts the calls of its own functions, and prints them at
 * its end as lines `calls NAME COUNT`, for a test to compare with what was recorded.
 *
 *	static void f(void) { COUNTED; ... }
 *	int main(void) { COUNTED; ...; print_counts(); }
 */
#ifndef TARGET_H
#define TARGET_H

#include <stdio.h>

/* Not a function to be traced, whatever the flags. */
#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0), no_instrument_function))
#define NOINLINE __attribute__((noinline))

struct counter {
	const char *name;
	unsigned long n;
	struct counter *next;
};

static struct counter *counters;

static inline __attribute__((always_inline, no_instrument_function)) void
count_call(struct counter *c)
{
	/* the first call, of whatever thread or signal handler, puts it on the list */
	if (!__atomic_fetch_add(&c->n, 1, __ATOMIC_SEQ_CST)) {
		struct counter *head = __atomic_load_n(&counters, __ATOMIC_SEQ_CST);

		do
			c->next = head;
		while (!__atomic_compare_exchange_n(&counters, &head, c, 0, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST));
	}
}

#define COUNTED                                                                                    \
	static struct counter counter_here;                                                        \
	counter_here.name = __func__;                                                              \
	count_call(&counter_here)

static NOTRACE __attribute__((unused)) void print_counts(void)
{
	const struct counter *c;

	for (c = counters; c; c = c->next)
		printf("calls %s %lu\n", c->name, c->n);
	fflush(stdout);
}

#endif
