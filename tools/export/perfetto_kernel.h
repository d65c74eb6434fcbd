/* SPDX-License-Identifier: MIT */
/* Records that Perfetto knows as the kernel's: it makes states of threads and counters of CPUs of them. */
#ifndef VESTIGE_TOOLS_PERFETTO_KERNEL_H
#define VESTIGE_TOOLS_PERFETTO_KERNEL_H

#include <stdbool.h>

#include "tools/export/protobuf.h"
#include "tools/reader/reader.h"

/* What a record says of threads. */
struct perfetto_sched {
	int32_t woken;	 /* it was made runnable; 0: no thread */
	int32_t running; /* it comes to the CPU; 0: no thread */
};

/*
 * perfetto_kernel_put() - the record as a FtraceEvent.
 * @event: empty; gets it. @part: scratch. @sched: what it says of threads.
 * Return: false: Perfetto has no such event, or we do not write it.
 */
bool perfetto_kernel_put(const struct reader *r, const struct record *rec, struct protobuf *event,
			 struct protobuf *part, struct perfetto_sched *sched);

#endif
