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

/* Whether its tracer wants the calls of the function: what its filters leave. */
int trace_array_wants(const struct trace_array *tr, uint32_t id);

/* The @i-th, 0 is the top one; NULL: there is none at that place. @i below RING_MAX. */
struct trace_array *trace_array_at(uint32_t i);

/* The instance of that name, NULL: there is none. @name: @n bytes. */
struct trace_array *trace_array_find(const char *name, size_t n);

/*
 * trace_array_create() - mkdir instances/NAME. Under the tree's lock, as all here.
 * Return: 0; -EEXIST; -ENOENT no name; -ENAMETOOLONG; -EPERM a `/` in it; -ENOSPC there are 16, or
 * the file system is full; -ENOMEM.
 */
int trace_array_create(const char *name, size_t n);

/* trace_array_destroy() - rmdir: its tracer stops, its buffer is gone when this returns. */
void trace_array_destroy(struct trace_array *tr);

/* Call back before an instance goes, for what refers to it. One callback. Constructor context. */
void trace_array_on_destroy(void (*callback)(const struct trace_array *tr));

/* Objects came or went, or clocks were read: its areas say so too. */
void trace_arrays_sync(void);

/* The process ends: what holds records stays for its readers. */
void trace_arrays_exit(void);

/* In a fork's child: the top one alone. Its area and ring are the child's own already. */
void trace_arrays_fork(void);

/* The ring of an area that was just made. */
struct ring trace_array_ring(struct area_header *head);

#endif
