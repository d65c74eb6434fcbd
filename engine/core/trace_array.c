/* SPDX-License-Identifier: MIT */
/*
 * Makes and removes instances. Each has an area of its own (area_instance.c), a ring whose index is
 * its row in the table here, filters, options and a tracer. The top instance is not made here and
 * is never removed. Under the tree lock, in the agent or a thread of the program.
 *
 * An instance may be removed while threads write into it. First it is unlinked (ops.c). When all
 * threads have left it, its blocks and its memory are freed (ring_close).
 *
 * fork: see trace_arrays_fork_all() and fork_snapshots(). Costs: bench "instances". Tests:
 * tests/engine/fire/instances.
 */
#include "engine/core/trace_array.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/area_dead.h"
#include "engine/process/clock.h"
#include "engine/core/func_command.h"
#include "engine/core/options.h"
#include "engine/core/tracer.h"

struct trace_array global_trace = {
	.ring = ring_top,
	.filter = {.shown = AREA_FILTER_TRACE, .ring = ring_top},
	.notrace = {.shown = AREA_FILTER_NOTRACE, .ring = ring_top},
};

struct trace_array *printk_trace = &global_trace;
uint32_t marker_copies;

static struct trace_array instances[RING_MAX]; /* indexed by the ring's index; ring NULL: free */

struct trace_array *trace_array_at(uint32_t i)
{
	if (!i)
		return &global_trace;
	return i < RING_MAX && instances[i].ring && !instances[i].going ? &instances[i] : NULL;
}

struct trace_array *trace_array_find(const char *name, size_t n)
{
	uint32_t i;

	for (i = 1; i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (tr && strlen(tr->name) == n && !memcmp(tr->name, name, n))
			return tr;
	}
	return NULL;
}

enum ring_stamps trace_clock_stamps(const struct area_buffer *b)
{
	return b->trace_clock == AREA_TRACE_NONE      ? RING_STAMPS_NONE
	       : b->trace_clock == AREA_TRACE_COUNTER ? RING_STAMPS_COUNTER
						      : RING_STAMPS_CLOCK;
}

struct ring trace_array_ring(struct area_header *head)
{
	return (struct ring){
		.area = head,
		.buffer = area_entry_in(head, AREA_BUFFERS, 0),
		.cpus = area_entry_in(head, AREA_CPUS, 0),
		.snaps = area_entry_in(head, AREA_SNAPSHOTS, 0),
		.descs = area_entry_in(head, AREA_PAGES, 0),
		.pages = (uint8_t *)head + head->pages_offset,
		.task_table = &head->tables[AREA_TASKS],
		.tasks = area_entry_in(head, AREA_TASKS, 0),
		.nr_cpus = head->nr_cpus,
		.stamps = trace_clock_stamps(area_entry_in(head, AREA_BUFFERS, 0)),
	};
}

static int check_name(const char *name, size_t n)
{
	size_t i;

	if (!n)
		return -ENOENT;
	for (i = 0; i < n; i++)
		if (name[i] == '/' || !name[i])
			return -EPERM;
	if (name[0] == '.' && (n == 1 || (n == 2 && name[1] == '.')))
		return -EEXIST;
	if (n >= AREA_INSTANCE_BYTES)
		return -ENAMETOOLONG;
	return trace_array_find(name, n) ? -EEXIST : 0;
}

/* As in the kernel, the options are copied from the top instance; the clock is not. */
static void begin_as_top(struct area_buffer *b)
{
	const struct area_buffer *top = trace_array_buffer(&global_trace);

	const uint64_t not_these = UINT64_C(1) << AREA_OPTION_FUNCTION_FORK |
				   UINT64_C(1) << AREA_OPTION_FUNC_STACK_TRACE |
				   UINT64_C(1) << AREA_OPTION_FUNC_NO_REPEATS |
				   UINT64_C(1) << AREA_OPTION_TRACE_PRINTK_DEST |
				   UINT64_C(1) << AREA_OPTION_COPY_TRACE_MARKER;

	b->options = top->options & ~not_these;
	b->flags = top->flags;
}

int trace_array_create(const char *name, size_t n)
{
	char text[AREA_INSTANCE_BYTES];
	struct area_header *head;
	struct trace_array *tr;
	struct ring ring, *r;
	int err = check_name(name, n);

	if (err)
		return err;
	str_copy(text, n + 1, name);
	clock_add_pair();
	err = area_add_instance(text, &head);
	if (err)
		return err;
	ring = trace_array_ring(head);
	begin_as_top(ring.buffer);
	r = ring_open(&ring);
	if (!r) {
		area_drop_instance(head, 1);
		return -ENOSPC;
	}
	tr = &instances[r->index];
	*tr = (struct trace_array){
		.filter = {.shown = AREA_FILTER_TRACE, .ring = r},
		.notrace = {.shown = AREA_FILTER_NOTRACE, .ring = r},
	};
	memcpy(tr->name, text, n + 1);
	tr->ring = r;
	tracer_set(tr, "nop", 3);
	ring_set_on(r, 1);
	return 0;
}

int trace_array_alloc_snapshot(struct trace_array *tr)
{
	struct ring *r = tr->ring;
	uint32_t i;
	int err = 0;

	if (ring_snapshot_allocated(r))
		return 0;
	for (i = 0; i < r->nr_cpus && !err; i++)
		err = area_cpu_reach_spare(trace_array_area(tr), i, r->cpus[i].nr_pages);
	return err ? -ENOMEM : ring_snapshot_alloc(r);
}

static void (*on_destroy)(const struct trace_array *tr);

void trace_array_on_destroy(void (*callback)(const struct trace_array *tr))
{
	on_destroy = callback;
}

void trace_array_destroy(struct trace_array *tr)
{
	struct area_header *head = trace_array_area(tr);
	struct ring *r = tr->ring;
	int err;

	if (on_destroy)
		on_destroy(tr);
	option_set(tr, AREA_OPTION_TRACE_PRINTK_DEST, 0);
	option_set(tr, AREA_OPTION_COPY_TRACE_MARKER, 0);
	tracer_set(tr, "nop", 3);
	func_commands_clear(tr);
	tr->filter.ring = tr->notrace.ring = NULL;
	function_set_free(&tr->filter);
	function_set_free(&tr->notrace);
	tr->event_pids_set = 0;
	pid_list_clear(&tr->event_pids);
	pid_list_clear(&tr->event_no_pids);
	/* threads that are inside may still find its ring; ring_close() waits for them */
	__atomic_store_n(&tr->going, 1, __ATOMIC_SEQ_CST);
	err = ring_close(r);
	if (!err) {
		__atomic_store_n(&tr->ring, NULL, __ATOMIC_SEQ_CST);
		err = ring_synchronize();
	}
	if (!err) {
		pid_list_free(&tr->pids);
		pid_list_free(&tr->no_pids);
	}
	if (err)
		area_status("the memory of an instance stays: a thread did not leave it", tr->name,
			    err);
	area_drop_instance(head, !err);
}

void trace_arrays_sync(void)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 1; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (tr)
			area_sync_instance(trace_array_area(tr));
	}
}

uint32_t trace_arrays_exit(void)
{
	struct trace_array *tr;
	uint32_t i, kept = 0;

	trace_arrays_sync();
	for (i = 1; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (!tr)
			continue;
		__atomic_store_n(&trace_array_area(tr)->state, AREA_EXITED, __ATOMIC_RELEASE);
		if (area_holds(trace_array_area(tr)))
			kept++;
		else if (!sys_is_forbidden())
			area_drop_instance(trace_array_area(tr), 0);
	}
	return kept;
}

/* The child does not have this instance. */
static void leave_behind(struct trace_array *tr, int keep)
{
	struct area_header *head = trace_array_area(tr);

	func_commands_clear(tr);
	tr->filter.ring = tr->notrace.ring = NULL;
	function_set_free(&tr->filter);
	function_set_free(&tr->notrace);
	pid_list_free(&tr->pids);
	pid_list_free(&tr->no_pids);
	ring_fork_instance(tr->ring, NULL);
	tr->ring = NULL;
	area_unmap(head, keep);
}

void trace_arrays_fork(int keep)
{
	uint32_t i;

	ops_fork(0);
	printk_trace = &global_trace;
	marker_copies = 0;
	for (i = 1; i < RING_MAX; i++)
		if (trace_array_at(i))
			leave_behind(trace_array_at(i), keep);
}

/* Make an area for each instance. Return: 0; -errno: none was made. */
static int fork_areas(struct area_header *made[RING_MAX])
{
	uint32_t i;
	int err = 0;

	for (i = 1; i < RING_MAX && !err; i++) {
		const struct trace_array *tr = trace_array_at(i);

		made[i] = NULL;
		if (tr)
			err = area_fork_instance(trace_array_area(tr), &made[i]);
	}
	while (err && --i)
		if (made[i])
			area_drop_instance(made[i], 1);
	return err;
}

int trace_arrays_fork_all(void)
{
	struct area_header *made[RING_MAX] = {0};
	uint32_t i;
	int err = fork_areas(made);

	if (err)
		return err;
	ops_fork(1);
	for (i = 1; i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);
		struct ring ring;
		int on;

		if (!tr)
			continue;
		tr->forked_from = trace_array_area(tr);
		on = ring_is_on(tr->ring);
		ring = trace_array_ring(made[i]);
		ring_fork_instance(tr->ring, &ring);
		ring_set_on(tr->ring, on);
	}
	return 0;
}

void trace_arrays_forked(int keep)
{
	uint32_t i;

	for (i = 1; i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);

		if (!tr || !tr->forked_from)
			continue;
		area_unmap(tr->forked_from, keep);
		tr->forked_from = NULL;
	}
	if (printk_trace == &global_trace)
		trace_array_buffer(&global_trace)->options |= UINT64_C(1)
							      << AREA_OPTION_TRACE_PRINTK_DEST;
}

/*
 * The child's snapshots have memory where the parent's have it: for triggers, commands and latency
 * tracers. They are empty.
 */
static void fork_snapshots(const struct lifecycle_fork *f)
{
	uint32_t i;

	for (i = 0; f->when == LIFECYCLE_FORK_TAKE && i < RING_MAX; i++) {
		struct trace_array *tr = trace_array_at(i);
		const struct area_header *was = i && tr ? tr->forked_from : f->parent;
		const struct area_snapshot *snap =
			was ? area_entry_in(was, AREA_SNAPSHOTS, 0) : NULL;

		if (tr && snap && load_acquire(&snap->allocated) && trace_array_alloc_snapshot(tr))
			area_status("no memory for a snapshot in this child of fork",
				    tr->name[0] ? tr->name : NULL, -ENOMEM);
	}
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_snapshots, NULL);

static const struct functions_found on_found = {trace_arrays_sync};
REGISTRY_ADD(vestige_functions_found, on_found);
