/* SPDX-License-Identifier: MIT */
/*
 * The engine's part in fork(). When memory is copied, no other thread may be in the middle of a
 * change, since that thread does not exist in the child. So fork() first takes the tree lock and
 * the heap's lock, with the engine's signals blocked, and parent and child release them. The area
 * is shared, not copied, and the parent goes on to change it, so area_before_fork() saves what the
 * child needs of it. Everything else that starts anew in the child is a row of the lifecycle table
 * (base/lifecycle.h).
 *
 * The wait is bounded, as the thread that has the lock may wait until the forking one leaves a
 * callback. After FORK_PATIENCE_NS the child is created all the same, and is not traced. A thread
 * that forks while it has the lock itself (as a program's regfunc() may) keeps it on both sides.
 *
 * Children by vfork() and raw clone() never come here. Tests: tests/engine/fire/forks.
 */
#include <errno.h>
#include <pthread.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/control/oops.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/core/function.h"
#include "engine/process/heap.h"
#include "engine/core/ops.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/thread.h"
#include "engine/core/trace_array.h"
#include "engine/events/atrace.h"
#include "engine/events/event.h"
#include "engine/ring/ring.h"

#define FORK_PATIENCE_NS UINT64_C(1000000000)

static int with_agent;

/* The state of a fork(), in the thread that calls it. */
static __thread struct forking {
	enum ring_interrupted interrupted;
	enum tree_forking locked;
	int has_heap;  /* the heap's lock is held */
	int has_child; /* the child will have an area */
	int tid;
} forking __attribute__((tls_model("initial-exec")));

/*
 * The child gets an area of its own if its records are wanted: in a session, or when a tracer or an
 * event is on. Otherwise the engine does nothing in the child.
 */
static int wants_area(void)
{
	const struct area_buffer *buffer = area_entry(AREA_BUFFERS, 0);

	return area->session[0] || !str_equal(buffer->tracer, "nop") ||
	       events_any_on(&global_trace) || atrace_any_on() || stack_tracer_is_on() ||
	       oops_get();
}

static const struct area_header *instance_area(uint32_t index)
{
	const struct trace_array *tr = trace_array_at(index);

	return tr ? trace_array_area(tr) : NULL;
}

static void fork_prepare(void)
{
	forking = (struct forking){.interrupted = ring_interrupted(), .tid = threads_before_fork()};
	if (!area)
		return;
	/*
	 * a thread without system calls makes no area for its child; the child does not use data
	 * that may be in the middle of a change
	 */
	forking.locked = TREE_FORK_REFUSED;
	if (sys_is_forbidden())
		return;
	forking.locked = tree_fork_prepare(FORK_PATIENCE_NS);
	if (forking.locked == TREE_FORK_REFUSED)
		return;
	forking.has_heap = !heap_fork_prepare(FORK_PATIENCE_NS);
	forking.has_child = wants_area();
	if (forking.has_child && area_before_fork(instance_area))
		forking.has_child = 0;
	if (forking.has_child)
		ring_fork_begins();
}

static void fork_parent(void)
{
	if (forking.has_child) {
		area_after_fork();
		ring_fork_ends(0);
	}
	if (forking.has_heap)
		heap_fork_parent();
	tree_fork_end(forking.locked);
}

/* Count and report in the parent's area that the child is not traced, and why. */
static void stay_untraced(struct area_header *parent, const char *why, int err)
{
	area = parent;
	area_status(why, NULL, err);
	area = NULL;
}

/* Set up the child. It owns the locks now. */
static void begin_anew(void)
{
	/* a thread that forked inside the engine continues there in the same state */
	int keep = forking.interrupted != RING_NOTHING || forking.locked == TREE_FORK_OWN;
	struct lifecycle_fork f = {.when = LIFECYCLE_FORK_LEAVE, .with_agent = with_agent};
	struct area_header *parent;
	struct ring ring;
	int all, on, err;
	uint32_t i;

	all = area->session[0] && forking.interrupted != RING_SLOW_PATH;
	if (!all)
		trace_arrays_fork(keep);
	lifecycle_fork(&f);
	if (!forking.has_child) {
		area = NULL;
		return;
	}
	on = ring_is_on(ring_top);
	if (forking.interrupted == RING_SLOW_PATH) {
		parent = area;
		ring_fork_ends(1);
		stay_untraced(parent, "a handler forked amid the engine: the child has no area", 0);
		area_unmap(parent, 1);
		return;
	}
	err = area_fork(&parent);
	if (err && all)
		trace_arrays_fork(keep);
	if (err) {
		ring_fork_ends(1);
		stay_untraced(parent, "a child of fork has no area: its calls are not recorded",
			      err);
		return;
	}
	ring = trace_array_ring(area);
	ring_fork(&ring);
	ring_fork_ends(0);
	err = all ? trace_arrays_fork_all() : 0;
	if (err) {
		area_status("a child of fork does not have its parent's instances", NULL, err);
		trace_arrays_fork(keep);
	}
	f.when = LIFECYCLE_FORK_TAKE;
	f.parent = parent;
	lifecycle_fork(&f);
	area_after_fork();
	area_unmap(parent, keep);
	trace_arrays_forked(keep);
	ring_thread_start("<...>");
	trace_arrays_thread_start(forking.tid, area->pid);
	ring_set_on(ring_top, on);
	f.when = LIFECYCLE_FORK_RESUME;
	lifecycle_fork(&f);
	for (i = 0; i < RING_MAX; i++)
		if (trace_array_at(i))
			tree_mirror(trace_array_at(i));
}

static void fork_child(void)
{
	srcu_fork();
	heap_fork_child();
	tree_fork_child(forking.locked);
	if (!area)
		return;
	if (forking.has_child && (sys_is_forbidden() || !forking.has_heap))
		ring_fork_ends(1);
	if (sys_is_forbidden())
		area = NULL;
	else if (forking.locked == TREE_FORK_REFUSED || !forking.has_heap)
		stay_untraced(area, "a child of fork has no area: the engine was amid a change", 0);
	else
		begin_anew();
	/* the agent takes the lock at once */
	tree_fork_end(forking.locked);
	if (area)
		lifecycle_fork(&(struct lifecycle_fork){.when = LIFECYCLE_FORK_UNLOCKED,
							.with_agent = with_agent});
}

static void start(const struct lifecycle_start *how)
{
	with_agent = how->with_agent;
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

LIFECYCLE(LIFECYCLE_LIVE, start, NULL, NULL);
