/* SPDX-License-Identifier: MIT */
/*
 * Converts records to Perfetto's events of the kernel, from which it shows states of threads and
 * counters of CPUs.
 */
#ifndef VESTIGE_TOOLS_PERFETTO_KERNEL_H
#define VESTIGE_TOOLS_PERFETTO_KERNEL_H

#include <stdbool.h>

#include "tools/export/protobuf.h"
#include "tools/reader/reader.h"

/* The effect of a record on threads. */
struct perfetto_sched {
	int32_t woken;	 /* it was made runnable; 0: no thread */
	int32_t running; /* it comes to the CPU; 0: no thread */
};

/*
 * perfetto_kernel_put() - convert the record to a FtraceEvent.
 * @event: empty; gets it. @part: scratch. @sched: gets its effect on threads.
 * Return: false: Perfetto has no such event, or we do not write it.
 */
bool perfetto_kernel_put(const struct reader *r, const struct record *rec, struct protobuf *event,
			 struct protobuf *part, struct perfetto_sched *sched);

#endif
