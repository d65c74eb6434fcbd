/* SPDX-License-Identifier: MIT */
/*
 * The context columns of records: irqs-off, need-resched, hardirq, preempt-depth, migrate-disable.
 * sources/ computes them and registers its functions here.
 */
#ifndef VESTIGE_CORE_CONTEXT_H
#define VESTIGE_CORE_CONTEXT_H

#include "engine/core/trace_array.h"

/* The kernel's TRACE_FLAG_* that a process can have, and bits of our own above them. */
enum {
	CONTEXT_IRQS_OFF = 0x01,
	CONTEXT_NEED_RESCHED = 0x24, /* with the counter's half of it: `N` */
	CONTEXT_HARDIRQ = 0x08,
	CONTEXT_SOFTIRQ = 0x10,
	CONTEXT_DEPTH_SHIFT = 8,
	CONTEXT_MIGRATE_DISABLED = 0x1000,
};

/*
 * context_want() - add (@on 1) or remove a user in an instance: the option `context`, or a latency
 * tracer. Under the tree lock. Return: 0; -ENODEV: the program is static; -ENOMEM.
 */
int context_want(struct trace_array *tr, int on);

/* The calling thread's context, for an instance; 0: the instance's columns are off. Any context. */
static inline uint32_t context_now(const struct ring *r)
{
	return load_relaxed(&r->contexts) ? ring_context() : 0;
}

extern uint32_t context_wants; /* number of users in all instances */

/* The calling thread's common_flags, if any instance has the columns. Any context. */
static inline uint32_t context_flags(void)
{
	return load_relaxed(&context_wants) ? ring_context() & 0xff : 0;
}
static inline uint32_t context_preempt_count(void)
{
	return load_relaxed(&context_wants) ? ring_context() >> CONTEXT_DEPTH_SHIFT & 0xff : 0;
}

/*
 * Register the functions that compute the context. @listen: called when the first user comes, and
 * when the last one leaves.
 */
void context_register(uint32_t (*now)(void), int (*listen)(int on));

#endif
