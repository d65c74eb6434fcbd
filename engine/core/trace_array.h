/* SPDX-License-Identifier: MIT */
/*
 * An instance: what stands behind one set of control files. The top one is always there; it records
 * into the area of the process, and its calls take the shortest way (hook/<cpu>/entry.S).
 */
#ifndef VESTIGE_CORE_TRACE_ARRAY_H
#define VESTIGE_CORE_TRACE_ARRAY_H

#include <stdint.h>

#include "abi/area.h"
#include "engine/core/function.h"
#include "engine/ring/ring.h"

struct tracer;

struct trace_array {
	char name[AREA_INSTANCE_BYTES]; /* "" of the top one */
	struct ring *ring;
	const struct tracer *current;
	const struct tracer_ops *ops; /* of its tracer, NULL: it wants no calls */
	struct function_set filter;   /* set_ftrace_filter; empty means all */
	struct function_set notrace;
};

extern struct trace_array global_trace;

static inline struct area_header *trace_array_area(const struct trace_array *tr)
{
	return tr->ring->area;
}

static inline struct area_buffer *trace_array_buffer(const struct trace_array *tr)
{
	return tr->ring->buffer;
}

static inline int trace_array_is_top(const struct trace_array *tr)
{
	return tr == &global_trace;
}

#endif
