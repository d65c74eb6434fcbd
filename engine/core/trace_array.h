/* SPDX-License-Identifier: MIT */
/*
 * An instance: the state behind one set of control files. The top instance is always there; it
 * records into the area of the process, and its calls take the shortest path (hook/<cpu>/entry.S).
 */
#ifndef VESTIGE_CORE_TRACE_ARRAY_H
#define VESTIGE_CORE_TRACE_ARRAY_H

#include <stdint.h>

#include "abi/area.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/ring/pid_list.h"
#include "engine/ring/ring.h"

struct hist_range;
struct tracer;

struct trace_array {
	char name[AREA_INSTANCE_BYTES]; /* "" of the top one */
	struct ring *ring;
	uint32_t going; /* it is being destroyed: new users leave it alone */
	const struct tracer *current;
	struct call_ops ops;	    /* of its tracer */
	struct function_set filter; /* set_ftrace_filter; empty means all */
	struct function_set notrace;
	uint8_t with_stacks;	   /* func_stack_trace: function records their stacks */
	uint8_t no_repeats;	   /* func-no-repeats: ... calls that come again as one record */
	uint32_t first_free_probe; /* no row of AREA_PROBES before it is free */
	struct pid_list pids;	   /* set_ftrace_pid; counts when the ring has it */
	struct pid_list no_pids;
	struct pid_list event_pids; /* set_event_pid; counts when the next word says so */
	struct pid_list event_no_pids;
	uint32_t event_pids_set; /* 1: event_pids, 2: event_no_pids */
	void *print_file; /* events/ftrace/print while something acts on it: events/ftrace_event.c */
	uint64_t max_latency_ns; /* tracing_max_latency */
	uint64_t latency_over;	 /* a latency of more units of its clock is news: core/latency.h */
	/* options before a tracer of latencies */
	uint32_t nr_contexts; /* that want context columns: core/context.h */
	uint8_t had_overwrite, had_latency_format, keeps_overwrite;
	uint32_t nr_hists_of_time; /* that look at times: stamps are absolute while there are any */
	struct area_header
		*forked_from; /* its parent's area, in trace_arrays_fork_all() and behind it */
	struct hist_range *hist_ranges; /* of AREA_HIST_ROOM, in use; see hist_alloc.c */
};

extern struct trace_array global_trace;

/* Where trace_printk() writes: the option trace_printk_dest. Read between ring_enter() and
 * _leave(). */
extern struct trace_array *printk_trace;

/* How many instances have the option copy_trace_marker. */
extern uint32_t marker_copies;

static inline struct area_header *trace_array_area(const struct trace_array *tr)
{
	return tr->ring->area;
}

static inline struct area_buffer *trace_array_buffer(const struct trace_array *tr)
{
	return tr->ring->buffer;
}

/* buffer_subbuf_size_kb */
static inline uint32_t trace_array_subbuf_kb(const struct trace_array *tr)
{
	return trace_array_buffer(tr)->subbuf_kb ? trace_array_buffer(tr)->subbuf_kb : 4;
}

static inline int trace_array_is_top(const struct trace_array *tr)
{
	return tr == &global_trace;
}

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

/*
 * trace_array_alloc_snapshot() - have the memory for snapshots, as much as the buffer has.
 * Return: 0; -ENOMEM.
 */
int trace_array_alloc_snapshot(struct trace_array *tr);

/* trace_array_destroy() - rmdir: its tracer stops, its buffer is gone when this returns. */
void trace_array_destroy(struct trace_array *tr);

/*
 * trace_array_set_pids() - one write to set_ftrace_pid, or to set_ftrace_notrace_pid if @notrace.
 * @text: @n bytes, ids between blanks, in base 10, 8 or 16; they are added to the list, all or
 * none. @reset: forget those before. No id at all: there is no list, all threads count. Return: 0,
 * -EINVAL, -ENOMEM.
 */
int trace_array_set_pids(struct trace_array *tr, int notrace, const char *text, size_t n,
			 int reset);

/* The same of set_event_pid and set_event_notrace_pid; which threads' events are recorded. */
int trace_array_set_event_pids(struct trace_array *tr, int notrace, const char *text, size_t n,
			       int reset);

/* Whether the lists let the events of a thread be recorded. Any context. */
int trace_array_wants_events_of(const struct trace_array *tr, int tid);

/* The list as it counts, NULL: there is none. */
const struct pid_list *trace_array_pids(const struct trace_array *tr, int notrace);

/*
 * A thread @tid began, which @parent made; or it ends. Where the option function-fork is on, it is
 * in a list if its parent was, and leaves it. Any threads at once, normal context.
 */
void trace_arrays_thread_start(int parent, int tid);
void trace_arrays_thread_end(int tid);

/* Call back before an instance goes, for what refers to it. One callback. Constructor context. */
void trace_array_on_destroy(void (*callback)(const struct trace_array *tr));

/* Objects came or went, or clocks were read: write that into all areas, too. */
void trace_arrays_sync(void);

/* The process ends: instances that hold records stay for their readers. Return: how many do. */
uint32_t trace_arrays_exit(void);

/*
 * trace_arrays_fork() - in a fork's child: it has the top one alone. @keep: a handler forked amid
 * the engine, which goes on to what it found; see area_unmap(). trace_arrays_fork_all() - it has
 * all that its parent had, with their filters, options, events, but with nothing recorded. Behind
 * ring_fork(). Return: 0, or -errno: nothing was done. trace_arrays_forked() - the end of either:
 * the parents' areas are no longer needed.
 */
void trace_arrays_fork(int keep);
int trace_arrays_fork_all(void);
void trace_arrays_forked(int keep);

/* How a buffer's trace_clock converts stamps. */
enum ring_stamps trace_clock_stamps(const struct area_buffer *b);

/* The ring of an area that was just made. */
struct ring trace_array_ring(struct area_header *head);

#endif
