/* SPDX-License-Identifier: MIT */
/*
 * Shared by the latency tracers (irqsoff, preemptoff, wakeup and their kind): the limits
 * tracing_max_latency and tracing_thresh, the options that they need, the functions that are called
 * during a stretch, and the maximum: its records, and its row of AREA_LATENCIES.
 *
 * A tracer measures in the ring's stamps (ring_now()) and calls latency_is_news() at the end of a
 * stretch. If that returns 1, it records the end of the stretch and calls latency_report().
 */
#ifndef VESTIGE_CORE_LATENCY_H
#define VESTIGE_CORE_LATENCY_H

#include "abi/area.h"
#include "abi/option.h"
#include "engine/core/trace_array.h"

/* A function that was called, and its caller. @ip 0: there is none. */
struct latency_call {
	uint64_t ip, parent_ip;
};

struct latency_stretch {
	uint64_t from, to; /* stamps of the ring */
	uint32_t from_cpu; /* CPU on which it began */
	uint32_t context;  /* context of the thread at its begin: context_now() */
	int32_t tid;	   /* the thread of the stretch */
	uint32_t all;	   /* keep the records of all threads, not of @tid alone */
	uint32_t is_over;  /* it ended a while ago, so later records do not belong to it */
	char comm[16];	   /* name of @tid if that is not the caller; NUL-terminated */
	/* priority of @tid, in the kernel's numbers: 120 is nice 0, below 100 real-time */
	int32_t prio;
	struct latency_call begin;     /* shown as the first record; a call of the calling thread */
	uint64_t started_at, ended_at; /* return addresses, for the header */
	uint64_t lock, lock_site;
	uint32_t lock_sort; /* enum area_lock_sort */
	uint32_t nr_waiters;
	struct area_waiter waiters[AREA_LATENCY_WAITERS];
};

/*
 * latency_init() - a latency tracer becomes current: switch the options overwrite and
 * latency-format on, and set tracing_max_latency to 0. With the option function-trace, record the
 * functions that threads with an open gate call (ring.h); with display-graph as a graph. Return: 0;
 * -errno of the hook. latency_reset() - restore the options. latency_set_option() - for
 * tracer.set_option. Under the tree lock.
 * tracer.set_option. Under the tree lock.
 */
int latency_init(struct trace_array *tr);
void latency_reset(struct trace_array *tr);
int latency_set_option(struct trace_array *tr, enum area_option option, int value);

/*
 * latency_set_max() - set tracing_max_latency, in ns. The second: tracing_thresh has changed. Under
 * the tree lock.
 */
void latency_set_max(struct trace_array *tr, uint64_t ns);
void latency_thresh_changed(void);

/* Whether a stretch of @units of the ring's clock must be reported. Any context. */
static inline int latency_is_news(const struct trace_array *tr, uint64_t units)
{
	return units > load_relaxed(&tr->latency_over);
}

/*
 * latency_report() - keep this stretch as the maximum, if it is still longer than the limit when
 * other threads have reported theirs. Return: 1: it is kept; 0: it is not. Any context; system
 * calls: sched_yield(), madvise(), and calls that read the thread's priority.
 */
int latency_report(struct trace_array *tr, const struct latency_stretch *s);

/*
 * Define a latency tracer with the name @which, and the file's own @which_init(), reset() and
 * @why_absent (tracer.absent).
 */
#define LATENCY_TRACER(which, why_absent)                                                          \
	static const struct tracer which = {                                                       \
		.name = #which,                                                                    \
		.init = which##_init,                                                              \
		.reset = reset,                                                                    \
		.set_option = latency_set_option,                                                  \
		.absent = why_absent,                                                              \
		.allow_instances = 1,                                                              \
		.use_max_tr = 1,                                                                   \
	};                                                                                         \
	TRACER_REGISTER(which)

#endif
