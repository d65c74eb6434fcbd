/* SPDX-License-Identifier: MIT */
/* Masks of CPUs with libc's type, as vestige-events(7) shows them. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cpumasks

#if !defined(CPUMASKS_H) || defined(TRACE_HEADER_MULTI_READ)
#define CPUMASKS_H

#include <sched.h>
#include <vestige/tracepoint.h>

#define nr_cpumask_bits CPU_SETSIZE

/* clang-format off */
TRACE_EVENT(cpumasks_set,

	TP_PROTO(const cpu_set_t *mask),

	TP_ARGS(mask),

	TP_STRUCT__entry(
		__cpumask(mask)
		__rel_cpumask(rel)
	),

	TP_fast_assign(
		__assign_cpumask(mask, mask);
		__assign_rel_cpumask(rel, mask);
	),

	TP_printk("mask=%s", __get_cpumask(mask))
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cpumasks
#include <vestige/define_trace.h>
