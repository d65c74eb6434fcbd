/* SPDX-License-Identifier: MIT */
/*
 * Converts records to Perfetto's form of the kernel's events. From these, Perfetto shows states of
 * threads and counters of CPUs.
 */
#ifndef VESTIGE_TOOLS_PERFETTO_KERNEL_H
#define VESTIGE_TOOLS_PERFETTO_KERNEL_H

#include <stdbool.h>

#include "tools/export/protobuf.h"
#include "tools/reader/reader.h"

/* The effect of a record on threads. */
struct perfetto_sched {
	int32_t woken;	 /* tid that was made runnable; 0: none */
	int32_t running; /* tid that gets the CPU; 0: none */
};

/*
 * perfetto_kernel_put() - convert the record to a FtraceEvent.
 * @event: empty; gets the FtraceEvent. @part: scratch memory. @sched: gets the effect on threads.
 * Return: true; false: Perfetto has no such event, or we do not write it.
 */
bool perfetto_kernel_put(const struct reader *r, const struct record *rec, struct protobuf *event,
			 struct protobuf *part, struct perfetto_sched *sched);

#endif
