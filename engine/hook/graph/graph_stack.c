/* SPDX-License-Identifier: MIT */
/*
 * See graph_stack.h. How a thread finds the row of the stack that it is on (graph_rows.c).
 *
 * Only the thread that runs on a stack writes its row. A thread's `current` is only a guess where
 * it runs; its next call confirms that or not. So nothing has to be done when another thread
 * resumes a coroutine.
 *
 * A handler may interrupt the slow path and take it itself; then the interrupted one starts again.
 * Only for its last few steps is the thread's fast path closed (graph_tls.current): calls of a
 * handler that comes just then are not wrapped, and are counted.
 *
 * fork: the child has one thread with its stacks, and all coroutines' stacks, with their shadow;
 * open calls return as in the parent.
 * Costs: bench/stacks.c. Tests: tests/engine/graph.
 */
#include "engine/hook/graph/graph_stack.h"

#include <errno.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/ops.h"
#include "engine/process/area.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_calls.h"
#include "engine/hook/graph/graph_learn.h"
#include "engine/hook/graph/graph_rows.h"
#include "engine/hook/graph/graph_shadow.h"
#include "engine/ring/ring_write.h"

#define MAX_STACK     (UINT64_C(1) << 40) /* of a stack that the program names: more is a mistake */
#define ABANDONED_GAP UINT64_C(64)
#define AHEAD_BYTES   (UINT64_C(1) << 20) /* of a stack, for a thread that gives up system calls */
#define AHEAD_STACKS  (UINT64_C(4) << 30) /* addresses for stacks that are made afterwards */
#define AHEAD_HOLES   (UINT64_C(1) << 30) /* of holes above those, at both ends */
#define AHEAD_HEAP    (UINT64_C(256) << 20)
#define USUAL_STACK   ((UINT64_C(8) << 20) + 4096)

/* No slot is on it: a thread with this as its current stack takes the slow path. */
static struct graph_stack no_stack = {.lo = UINT64_MAX};

static int started; /* the tables are mapped */
static int active;  /* calls are being wrapped */

/* Why calls were not wrapped, until a context that may report it; 2: it was reported. */
static int no_row, no_shadow, no_ahead, no_tables;

__thread struct graph_tls graph_tls
	__attribute__((tls_model("initial-exec"))) = {.current = &no_stack};

void graph_stacks_active(int on)
{
	store_relaxed(&active, on);
}

void graph_stacks_report(void)
{
	if (compare_and_store(&no_row, 1, 2))
		area_status("calls are left out of the graph: 130000 stacks are known, "
			    "and none of them is gone",
			    NULL, 0);
	if (compare_and_store(&no_shadow, 1, 2))
		area_status("calls are left out of the graph: no memory beside their stack", NULL,
			    0);
	if (compare_and_store(&no_ahead, 1, 2))
		area_status("calls are left out of the graph: their threads have given up system "
			    "calls, and nothing was kept for stacks where theirs are",
			    NULL, 0);
}

int graph_stacks_start(void)
{
	if (load_acquire(&started))
		return 0;
	if (graph_shadow_start() || graph_rows_start())
		return -ENOMEM;
	ops_set_open(graph_row_may_be_open);
	store_release(&started, 1);
	return 0;
}

int graph_stacks_probe(void)
{
	uint64_t slot = (uint64_t)__builtin_frame_address(0);

	if (graph_shadow_map(slot, slot))
		return 0;
	return graph_shadow_is_taken(slot) ? -EEXIST : -ENOMEM;
}

static struct graph_stack *known(uint64_t lo, uint64_t bytes)
{
	uint64_t top = (lo + bytes) & ~UINT64_C(7);

	if (!load_acquire(&started) || bytes < 64 || bytes > MAX_STACK || lo + bytes < lo)
		return NULL;
	graph_rows_forget(lo, top);
	return graph_row_make(lo, lo, top);
}

void graph_stack_known(uint64_t lo, uint64_t bytes)
{
	known(lo, bytes);
}

/* Forget a row, unless it has become another stack's. */
static void forget_if(struct graph_stack *s, uint64_t word)
{
	if (s && s->word == word)
		graph_row_forget(s);
}

void graph_stack_signals(uint64_t lo, uint64_t bytes)
{
	struct graph_tls *t = &graph_tls;

	forget_if(t->alt, t->alt_word);
	t->alt = known(lo, bytes);
	t->alt_word = t->alt ? t->alt->word : 0;
}

/* The stack on which the thread was last, as far as it knows; NULL: none. */
static struct graph_stack *last_stack(const struct graph_tls *t)
{
	struct graph_stack *s = t->current == &no_stack ? t->last : t->current;

	return s && s->top ? s : NULL;
}

static void close_fast_path(struct graph_tls *t)
{
	t->last = last_stack(t);
	barrier();
	t->current = &no_stack;
	barrier();
}

void graph_thread_end(void)
{
	struct graph_tls *t = &graph_tls;
	struct graph_stack *own = t->own;

	graph_thread_left();
	/* further calls take the slow path, and learn the stack again */
	t->busy = 1;
	barrier();
	t->current = &no_stack;
	t->last = t->own = NULL;
	t->word = 0;
	memset(t->recent, 0, sizeof(t->recent));
	t->thread_top = 0;
	barrier();
	t->busy = 0;
	forget_if(own, t->own_word);
	forget_if(t->alt, t->alt_word);
	t->alt = NULL;
}

void graph_thread_forbid(void)
{
	graph_tls.busy = 1;
	barrier();
	graph_tls.forbidden = 1;
	graph_tls.current = &no_stack;
}

/* Return: whether recording is on, and there was room. */
static int write_record(enum record_kind kind, uint32_t id)
{
	struct ring_slot slot;

	if (!ring_reserve_call(ring_top, &slot, RECORD_GRAPH_BYTES))
		return 0;
	ring_commit(&slot, kind, id);
	return 1;
}

/* Report the calls of @s, the stack of the next record, whose exits were not recorded. */
static void note_skipped(struct graph_stack *s)
{
	uint32_t n = graph_take_skipped(s, 0);

	if (unlikely(n) && !write_record(RECORD_UNWOUND, RECORD_UNWOUND_RETURNED | n))
		s->skipped[0] += n;
}

/* The row of the stack that the thread was given. */
static struct graph_stack *own_stack(struct graph_tls *t, uint64_t floor, uint64_t slot)
{
	struct graph_stack *s = t->own;

	if (s && s->word == t->own_word && s->top)
		return s;
	graph_rows_forget(floor, t->thread_top);
	s = graph_row_make(floor, slot, t->thread_top);
	if (s) {
		s->is_thread = 1;
		t->own_word = s->word;
		t->own = s;
	}
	return s;
}

/* The row of the stack that has @slot, if that is not the current one or its row is too short. */
static struct graph_stack *stack_of(struct graph_tls *t, struct graph_stack *current, uint64_t slot,
				    uint64_t fp, int *unclear)
{
	struct graph_stack *s;
	uint64_t floor;

	if (current && graph_row_covers(current, slot))
		return current;
	floor = t->thread_top - t->thread_bytes;
	if (t->thread_top && slot < t->thread_top && slot >= floor)
		return own_stack(t, floor, slot);
	s = graph_row_find(slot);
	return s ? s : graph_learn(current, slot, fp, unclear);
}

/* Map the stack's shadow down to @slot, and some more. */
static int extend(struct graph_stack *s, uint64_t slot)
{
	uint64_t lo = slot, top = load_acquire(&s->top);

	if (slot >= top) /* another thread has just removed the stack */
		return 0;
	if (s->floor) {
		lo = graph_shadow_first(slot);
		if (lo < s->floor)
			lo = s->floor;
	}
	if (!graph_shadow_map(lo, top - 8))
		return 0;
	if (!s->floor)
		graph_row_extend(s, lo);
	s->lo = lo;
	return 1;
}

/* How many levels an open call has; 0: set_graph_notrace hides it and what it calls. */
static uint32_t levels(const struct graph_stack *s, const struct graph_shadow *shadow, uint64_t at)
{
	return at == s->hidden && !graph_is_recorded(shadow) ? 0 : 1 + graph_tails(shadow);
}

/*
 * Count an unwound call: for the top instance if it has a plain record, for others if `calls` names
 * them.
 */
static void count_gone(const struct graph_shadow *shadow, uint64_t slot, uint32_t gone[RING_MAX])
{
	if (shadow->link & GRAPH_SILENT)
		graph_calls_gone(slot, gone);
	else
		gone[0]++;
}

static void report_gone(struct graph_stack *s, const uint32_t gone[RING_MAX])
{
	if (load_relaxed(&graph_multi))
		graph_calls_unwound(s, gone);
	else if (gone[0] && !write_record(RECORD_UNWOUND, gone[0]))
		s->skipped[0] += gone[0];
}

/*
 * Drop unwound calls: all below @slot, the one at it if this is an entry, and all whose slot no
 * longer holds a stub's address. @returned: the thread comes back to this stack. @gone: counts, for
 * each instance, those that have an entry record.
 */
static void drop(struct graph_stack *s, uint64_t slot, enum graph_step step, int returned,
		 uint32_t gone[RING_MAX])
{
	uint64_t at = s->open, outer;
	uint32_t n = 0;

	while (at < s->top) {
		const struct graph_shadow *shadow;

		if (step == GRAPH_EXIT && at >= slot)
			break;
		if (step == GRAPH_ENTER && at > slot &&
		    (!returned || graph_may_read(s, at, slot)) &&
		    graph_is_stub(*(const uint64_t *)at))
			break;
		if (at < s->lo) /* impossible: it had a shadow when it was opened */
			break;
		shadow = graph_shadow(at);
		count_gone(shadow, at, gone);
		n += levels(s, shadow, at);
		if (s->root == at)
			s->root = 0;
		if (s->hidden == at)
			s->hidden = 0;
		outer = graph_link(shadow);
		/* each link must lead further out, so that the loop has an end */
		at = outer > at ? outer : s->top;
	}
	s->open = at < s->lo || at > s->top ? s->top : at;
	s->depth = s->depth > n ? s->depth - n : 0;
}

void graph_stack_count(struct graph_stack *s)
{
	uint64_t at = s->open, root = 0, hidden = 0, outer;
	uint32_t n = 0, beneath = 0;

	while (at < s->top && at >= s->lo) {
		const struct graph_shadow *shadow = graph_shadow(at);
		uint64_t stub = *(const uint64_t *)at - (uint64_t)graph_stubs;

		if (at == s->hidden)
			hidden = at;
		n += levels(s, shadow, at);
		if (at == s->root && stub < sizeof(graph_flags) * GRAPH_STUB_BYTES &&
		    graph_flags[stub / GRAPH_STUB_BYTES] & GRAPH_ROOT) {
			root = at;
			beneath = n;
		}
		outer = graph_link(shadow);
		at = outer > at ? outer : s->top;
	}
	s->root = root;
	s->hidden = hidden;
	s->depth = graph_roots ? beneath : n;
	s->filters = load_relaxed(&graph_filters);
}

/*
 * A learned stack was left with open calls and begins anew, a few bytes lower. The outermost old
 * slot still holds a stub's address, but the new call replaces that one and was not made by it.
 * @gone: as for drop().
 */
static void drop_abandoned(struct graph_stack *s, uint64_t slot, uint32_t gone[RING_MAX])
{
	if (s->floor || s->open >= s->top || s->open - slot > ABANDONED_GAP ||
	    graph_shadow(s->open)->return_address != *(const uint64_t *)slot ||
	    graph_called_by_innermost(s, slot))
		return;
	drop(s, s->open + 8, GRAPH_EXIT, 1, gone);
}

/*
 * Close the thread's fast path. If it is closed already, this code has interrupted a slow path, or
 * a handler's longjmp() has left one for good: then this call is further out on the same stack.
 */
static int enter(struct graph_tls *t, uint64_t slot)
{
	if (t->busy) {
		const struct graph_stack *s = t->last;

		if (!s || slot <= t->busy_at || !graph_row_covers(s, slot) ||
		    !graph_row_covers(s, t->busy_at))
			return 0;
	}
	t->busy_at = slot;
	t->busy = 1;
	barrier();
	close_fast_path(t);
	return 1;
}

static void leave(struct graph_tls *t, struct graph_stack *s)
{
	barrier();
	t->current = s ? s : &no_stack;
	barrier();
	t->busy = 0;
}

/* Make @s the stack of the following records. Return: whether it is another one. */
static int become(struct graph_tls *t, const struct graph_stack *s)
{
	if (s->word == t->word)
		return 0;
	t->switched |= t->word != 0;
	t->word = s->word;
	if (!load_relaxed(&graph_multi))
		write_record(RECORD_STACK, record_word_id(s->word));
	return 1;
}

/*
 * The row of the stack that has @slot, with a shadow there; NULL: there is none, and none can be
 * made.
 */
static struct graph_stack *fitting_stack(struct graph_tls *t, uint64_t slot, uint64_t fp)
{
	int is_unclear = 0;
	struct graph_stack *s = stack_of(t, last_stack(t), slot, fp, &is_unclear);

	if (unlikely(is_unclear && !t->busy)) {
		/* calls that it makes are not on the last stack either */
		t->last = NULL;
		barrier();
		t->current = &no_stack;
	}
	if (unlikely(!s))
		compare_and_store(is_unclear ? &no_tables : &no_row, 0, 1);
	else if (unlikely(slot < s->lo && !extend(s, slot)))
		compare_and_store(sys_is_forbidden() ? &no_ahead : &no_shadow, 0, 1);
	else
		return s;
	return NULL;
}

/* Do not follow a call. @stub: see graph_stack_slow(). Return: 0. */
static int leave_alone(uint64_t stub)
{
	if (stub && load_relaxed(&graph_multi))
		graph_calls_missed(graph_stub_function(stub));
	return 0;
}

int graph_stack_slow(uint64_t slot, enum graph_step step, uint64_t fp, uint64_t stub)
{
	struct graph_tls *t = &graph_tls;
	uint32_t gone[RING_MAX] = {0}, turn;
	struct graph_stack *s;
	int returned;

	if (unlikely(t->forbidden || !load_acquire(&started))) {
		ring_count_untraced();
		return leave_alone(stub);
	}
	do {
		turn = t->turn;
		barrier();
		s = fitting_stack(t, slot, fp);
		if (!s) {
			ring_count_untraced();
			return leave_alone(stub);
		}
		if (!load_relaxed(&graph_multi))
			ring_ready(ring_top, 4 * RECORD_GRAPH_BYTES);
		if (!enter(t, slot)) {
			if (load_relaxed(&graph_multi))
				graph_calls_count_nested();
			else
				ring_count_nested(ring_top);
			return leave_alone(stub);
		}
		/* if a handler ran meanwhile, the copy is outdated */
		if (t->turn != turn)
			leave(t, NULL);
	} while (t->turn != turn);
	returned = become(t, s);
	if (!load_relaxed(&graph_multi))
		note_skipped(s);
	drop(s, slot, step, returned, gone);
	if (returned && step == GRAPH_ENTER)
		drop_abandoned(s, slot, gone);
	report_gone(s, gone);
	if (step == GRAPH_EXIT)
		s->open = slot;
	t->recent[graph_recent(slot)] = s;
	t->turn++;
	leave(t, s);
	return 1;
}

void graph_thread_start(uint64_t top, uint64_t bytes)
{
	struct graph_tls *t = &graph_tls;

	*t = (struct graph_tls){.current = &no_stack, .thread_top = top, .thread_bytes = bytes};
	/* before the first call, which a handler may interrupt */
	if (load_relaxed(&active))
		fitting_stack(t, top - 256, 0);
}

void graph_thread_ahead(void)
{
	const struct graph_tls *t = &graph_tls;
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	uint64_t below = sp - t->thread_top + t->thread_bytes;

	if (load_relaxed(&active) && sp < t->thread_top && below <= t->thread_bytes)
		graph_shadow_map(sp - min_of(below, AHEAD_BYTES), t->thread_top);
	if (load_relaxed(&active))
		graph_stacks_ahead();
}

static int is_unlimited(int what)
{
	struct rlimit limit;

	return !getrlimit(what, &limit) && limit.rlim_cur == RLIM_INFINITY;
}

/* Whether unused address space costs nothing. */
static int addresses_are_free(void)
{
	char mode = '2'; /* 2: all of it counts as used memory */
	int fd = sys_open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC, 0);

	if (fd >= 0) {
		sys_read(fd, &mode, 1);
		sys_close(fd);
	}
	return mode != '2' && is_unlimited(RLIMIT_AS) && is_unlimited(RLIMIT_DATA);
}

/*
 * New stacks will be where the kernel puts the next mapping, or in holes above it; behind it, if
 * the kernel counts upwards (no limit of the stack). Or the program takes them from its heap.
 */
void graph_stacks_ahead(void)
{
	uint64_t first = getauxval(AT_BASE), heap, next, end;
	int err = -ENOMEM;
	long p;

	if (!first) /* a static program has no loader, which is otherwise mapped first */
		first = getauxval(AT_SYSINFO_EHDR);

	if (addresses_are_free()) {
		p = sys_mmap(NULL, USUAL_STACK, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		err = sys_failed(p) ? (int)p : 0;
	}
	if (!err) {
		sys_munmap((void *)p, USUAL_STACK);
		next = (uint64_t)p + USUAL_STACK;
		end = min_of(first, next + AHEAD_HOLES);
		if (first > next)
			err = graph_shadow_keep(next - AHEAD_STACKS, end);
		if (!err && first > end)
			err = graph_shadow_keep(
				end < first - AHEAD_HOLES ? first - AHEAD_HOLES : end, first);
		if (first < next)
			err = graph_shadow_keep(next - AHEAD_HEAP, next + AHEAD_STACKS);
		heap = (uint64_t)arch_syscall(SYS_brk, 0, 0, 0, 0, 0, 0);
		if (!err && heap > AHEAD_HEAP && heap < next)
			err = graph_shadow_keep(heap - AHEAD_HEAP, heap + AHEAD_HEAP);
	}
	if (err)
		area_status("no memory is kept for the graph of threads that will have given up "
			    "system calls",
			    NULL, err);
}

void graph_stack_note(void)
{
	const struct graph_tls *t = &graph_tls;

	if (t->switched && t->word)
		write_record(RECORD_STACK, record_word_id(t->word));
	if (t->word && t->current->word == t->word)
		note_skipped(t->current);
}

void graph_stack_drop(uint64_t sp)
{
	struct graph_tls *t = &graph_tls;
	uint32_t gone[RING_MAX] = {0};
	struct graph_stack *s;

	if (!load_acquire(&started) || t->forbidden || !t->word || !enter(t, sp))
		return;
	s = t->last && graph_row_covers(t->last, sp) ? t->last : graph_row_find(sp);
	if (!s || s->open >= sp) {
		leave(t, t->last);
		return;
	}
	drop(s, sp, GRAPH_EXIT, become(t, s), gone);
	report_gone(s, gone);
	t->turn++;
	leave(t, s);
}

void graph_thread_left(void)
{
	const struct graph_tls *t = &graph_tls;

	if (load_relaxed(&active) && t->thread_top)
		graph_stack_drop(t->thread_top - 8);
}

/* In a fork's child: threads that do not exist in it have left calls open. */
static void fork_stacks(const struct lifecycle_fork *f)
{
	const struct graph_tls *t = &graph_tls;

	if (f->when == LIFECYCLE_FORK_LEAVE)
		graph_rows_keep_thread(t->own && t->own->word == t->own_word ? t->own : NULL);
}

/* Reports what was not reported yet. */
LIFECYCLE(LIFECYCLE_HOOK, NULL, fork_stacks, graph_stacks_report);
