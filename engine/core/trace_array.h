/* SPDX-License-Identifier: MIT */
/*
 * An instance: the state behind one set of control files. The top instance always exists; it
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
	char name[AREA_INSTANCE_BYTES]; /* "": the top instance */
	struct ring *ring;
	uint32_t going; /* it is being removed: new users ignore it */
	const struct tracer *current;
	struct call_ops ops;	    /* its tracer as a user of calls */
	struct function_set filter; /* set_ftrace_filter; empty means all */
	struct function_set notrace;
	uint8_t with_stacks;	   /* func_stack_trace: the function tracer records stacks */
	uint8_t no_repeats;	   /* func-no-repeats: ... repeated calls become one record */
	uint32_t first_free_probe; /* no row of AREA_PROBES before it is free */
	struct pid_list pids;	   /* set_ftrace_pid; in effect if the ring has it */
	struct pid_list no_pids;
	struct pid_list event_pids; /* set_event_pid; in effect as event_pids_set says */
	struct pid_list event_no_pids;
	uint32_t event_pids_set; /* 1: event_pids are in effect, 2: event_no_pids */
	/* event_file of ftrace:print while something acts on it: events/ftrace_event.c */
	void *print_file;
	uint64_t max_latency_ns; /* tracing_max_latency */
	/* greatest latency in clock units that is not reported: core/latency.h */
	uint64_t latency_over;
	/* options before a latency tracer */
	uint32_t nr_contexts; /* users of context columns: core/context.h */
	uint8_t had_overwrite, had_latency_format, keeps_overwrite;
	/* histograms that use times: stamps are absolute while there are any */
	uint32_t nr_hists_of_time;
	struct area_header
		*forked_from; /* its parent's area, during and after trace_arrays_fork_all() */
	struct hist_range *hist_ranges; /* used ranges of AREA_HIST_ROOM; see hist_alloc.c */
};

extern struct trace_array global_trace;

/*
 * The instance to which trace_printk() writes (option trace_printk_dest). Read between ring_enter()
 * and ring_leave().
 */
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

/* The @i-th instance, 0 is the top one; NULL: none. @i: below RING_MAX. */
struct trace_array *trace_array_at(uint32_t i);

/* The instance of that name; NULL: there is none. @name: @n bytes. */
struct trace_array *trace_array_find(const char *name, size_t n);

/*
 * trace_array_create() - mkdir instances/NAME. Under the tree lock, as all functions here. Return:
 * 0; -EEXIST; -ENOENT: no name; -ENAMETOOLONG; -EPERM: there is a `/` in it; -ENOSPC: there are 16
 * instances, or the file system is full; -ENOMEM.
 */
int trace_array_create(const char *name, size_t n);

/*
 * trace_array_alloc_snapshot() - allocate memory for snapshots, as much as the buffer has. Return:
 * 0; -ENOMEM.
 */
int trace_array_alloc_snapshot(struct trace_array *tr);

/*
 * trace_array_destroy() - rmdir: when it returns, the tracer has stopped and the buffer is freed.
 */
void trace_array_destroy(struct trace_array *tr);

/*
 * trace_array_set_pids() - one write to set_ftrace_pid, or to set_ftrace_notrace_pid if @notrace.
 * @text: @n bytes, ids separated by blanks, in base 10, 8 or 16; all of them are added to the list,
 * or none. @reset: empty the list first. A list without an id does not exist, so all threads count.
 * Return: 0, -EINVAL, -ENOMEM.
 */
int trace_array_set_pids(struct trace_array *tr, int notrace, const char *text, size_t n,
			 int reset);

/*
 * As trace_array_set_pids(), for set_event_pid and set_event_notrace_pid: threads whose events are
 * recorded.
 */
int trace_array_set_event_pids(struct trace_array *tr, int notrace, const char *text, size_t n,
			       int reset);

/* Whether the lists allow events of a thread to be recorded. Any context. */
int trace_array_wants_events_of(const struct trace_array *tr, int tid);

/* The list that is in effect; NULL: none. */
const struct pid_list *trace_array_pids(const struct trace_array *tr, int notrace);

/*
 * A thread @tid began, made by @parent; or it ends. With the option function-fork, it is added to a
 * list that has its parent, and removed at its end. Several threads at once, normal context.
 */
void trace_arrays_thread_start(int parent, int tid);
void trace_arrays_thread_end(int tid);

/*
 * Set @callback, which is called before an instance is removed. One callback. Constructor context.
 */
void trace_array_on_destroy(void (*callback)(const struct trace_array *tr));

/* Objects were loaded or unloaded, or clocks were read: update all areas. */
void trace_arrays_sync(void);

/* The process ends: instances that have records stay for their readers. Return: how many. */
uint32_t trace_arrays_exit(void);

/*
 * trace_arrays_fork() - in a fork's child that has the top instance alone. @keep: a handler forked
 * in the middle of the engine's work, which continues; see area_unmap(). trace_arrays_fork_all() -
 * the child has all of its parent's instances with their filters, options and events, but no
 * records. After ring_fork(). Return: 0; -errno: nothing was done. trace_arrays_forked() - the end
 * of either: the parent's areas are not needed any more.
 */
void trace_arrays_fork(int keep);
int trace_arrays_fork_all(void);
void trace_arrays_forked(int keep);

/* How a buffer's trace_clock converts stamps. */
enum ring_stamps trace_clock_stamps(const struct area_buffer *b);

/* The ring of an area that was just made. */
struct ring trace_array_ring(struct area_header *head);

#endif
