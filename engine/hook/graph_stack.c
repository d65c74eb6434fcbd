/* SPDX-License-Identifier: MIT */
/*
 * See graph_stack.h. Owns the table of stacks and the hash that finds them by 64 KiB of address.
 * Entries are claimed with one compare-and-swap and never moved, so that any thread may look at any
 * instruction.
 *
 * A row is written by the thread that runs on its stack, and by nobody else while it does; a thread's
 * `current` says only where it was last, which its next call proves or not. So nothing has to be told
 * when a coroutine is resumed by another thread.
 *
 * A handler may interrupt the slow path and take it itself; then the one below looks again. Only for
 * its last few steps is the thread's fast path closed (graph_tls.current): the calls of a handler that
 * comes just then stay unwrapped, and are counted.
 *
 * fork: the child has one thread, its stacks and its shadow; open calls return as in the parent.
 * Costs: bench/stacks.c. Tests: tests/engine/graph.
 */
#include "engine/hook/graph_stack.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/hook/graph.h"
#include "engine/hook/graph_calls.h"
#include "engine/hook/graph_shadow.h"
#include "engine/ring/ring_write.h"

#define GRANULE_SHIFT 16
#define NR_STACKS     16384u
#define NR_LEARNED    16000u /* of them, as graph_stacks_tell() says: others have their place */
#define NR_SEEN	      65536u /* a power of two: pieces of stacks in the hash */
#define PROBES	      64u
#define LEARN_BYTES   UINT64_C(512)
#define LEARN_REACH   UINT64_C(16384)
#define FIND_NEAR     UINT64_C(2048)
#define FIND_REACH    UINT64_C(65536)
#define KNOWN_BYTES   (UINT64_C(1) << 20) /* of a stack with bounds: findable at once */
#define ABANDONED_GAP UINT64_C(64)

static struct tables {
	struct graph_stack stacks[NR_STACKS];
	uint64_t seen[NR_SEEN]; /* granule << 20 | row + 1 */
	uint32_t hint;
	uint32_t last_id;
	uint32_t nr_learned;
} * tables;

/* Nothing fits here: whose current stack it is takes the slow path. */
static struct graph_stack no_stack = {.lo = UINT64_MAX};

static int active; /* calls are being wrapped */

/* Why calls were left unwrapped, to be told where that can be done; 2: it was. */
static int no_row, no_shadow;

__thread struct graph_tls graph_tls
	__attribute__((tls_model("initial-exec"))) = {.current = &no_stack};

void graph_stacks_active(int on)
{
	store_relaxed(&active, on);
}

void graph_stacks_tell(void)
{
	if (compare_and_store(&no_row, 1, 2))
		area_status("calls are left out of the graph: the stacks of 16000 coroutines are "
			    "known, and stay known when they are gone",
			    NULL, 0);
	if (compare_and_store(&no_shadow, 1, 2))
		area_status("calls are left out of the graph: no memory beside their stack", NULL,
			    0);
}

int graph_stacks_start(void)
{
	long p;

	if (tables)
		return 0;
	if (graph_shadow_start())
		return -ENOMEM;
	p = sys_mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	store_release(&tables, (struct tables *)p);
	return 0;
}

/* Let the hash lead from each piece of @lo .. @hi to the row. */
static void make_findable(uint32_t row, uint64_t lo, uint64_t hi)
{
	uint64_t granule;

	for (granule = lo >> GRANULE_SHIFT; granule <= hi >> GRANULE_SHIFT; granule++) {
		uint64_t entry = granule << 20 | (row + 1);
		uint32_t h = graph_hash(granule), i;

		for (i = 0; i < PROBES; i++) {
			uint64_t *at = &tables->seen[(h + i) & (NR_SEEN - 1)];

			if (load_relaxed(at) == entry || compare_and_store(at, 0, entry) ||
			    load_relaxed(at) == entry)
				break;
		}
	}
}

int graph_stacks_probe(void)
{
	uint64_t slot = (uint64_t)__builtin_frame_address(0);

	return graph_shadow_map(slot, slot) ? 0 : -EEXIST;
}

static int covers(const struct graph_stack *s, uint64_t slot)
{
	return slot < s->top && slot >= (s->floor ? s->floor : s->lo);
}

/* The row of the stack on which a slot lies; NULL if none is known there. */
static struct graph_stack *find(uint64_t slot)
{
	uint64_t granule = slot >> GRANULE_SHIFT;
	uint32_t h = graph_hash(granule), i;

	for (i = 0; i < PROBES; i++) {
		uint64_t entry = load_acquire(&tables->seen[(h + i) & (NR_SEEN - 1)]);
		struct graph_stack *s;

		if (!entry)
			return NULL;
		if (entry >> 20 != granule)
			continue;
		s = &tables->stacks[(entry & 0xfffff) - 1];
		if (covers(s, slot))
			return s;
	}
	return NULL;
}

static uint32_t row_of(const struct graph_stack *s)
{
	return (uint32_t)(s - tables->stacks);
}

/* The head word of a new stack's RECORD_STACK; what makes it another than any before it. */
static uint64_t next_word(void)
{
	uint64_t id = (fetch_add(&tables->last_id, 1) + 1) & RECORD_ID_MAX;

	return (uint64_t)RECORD_STACK << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;
}

/* A free row for a stack without a shadow yet. @floor: 0 if it has to be learned. @lo: a slot. */
static struct graph_stack *make(uint64_t floor, uint64_t lo, uint64_t top)
{
	uint32_t i, at = load_relaxed(&tables->hint);

	if (!floor && load_relaxed(&tables->nr_learned) >= NR_LEARNED)
		return NULL;
	for (i = 0; i < NR_STACKS; i++, at++) {
		struct graph_stack *s = &tables->stacks[at % NR_STACKS];

		if (load_relaxed(&s->claimed) || !compare_and_store(&s->claimed, 0, 1))
			continue;
		store_relaxed(&tables->hint, at + 1);
		fetch_add(&tables->nr_learned, !floor);
		s->word = next_word();
		s->lo = top;
		s->floor = floor;
		s->open = top;
		s->root = s->hidden = 0;
		s->depth = 0;
		store_release(&s->top, top);
		make_findable(row_of(s), lo, top);
		return s;
	}
	return NULL;
}

static void forget(struct graph_stack *s)
{
	if (!s->floor)
		fetch_add(&tables->nr_learned, UINT32_MAX);
	/* a thread that is still there takes the slow path */
	store_relaxed(&s->open, 0);
	store_relaxed(&s->lo, UINT64_MAX);
	store_release(&s->top, 0);
	store_release(&s->claimed, 0);
}

/* What lies in @lo .. @hi belongs to stacks that are no more. */
static void forget_range(uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < NR_STACKS; i++) {
		struct graph_stack *s = &tables->stacks[i];
		uint64_t top = load_relaxed(&s->top);

		if (!top && !load_relaxed(&s->claimed))
			break;
		if (top > lo && (s->floor ? s->floor : s->lo) < hi)
			forget(s);
	}
}

void graph_stack_known(uint64_t lo, uint64_t bytes)
{
	uint64_t top = (lo + bytes) & ~UINT64_C(7);

	if (!tables || bytes < 64 || lo + bytes < lo)
		return;
	forget_range(lo, top);
	make(lo, bytes > KNOWN_BYTES ? top - KNOWN_BYTES : lo, top);
}

/* Where the thread was last, as far as it knows; NULL: nowhere. */
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

	/* what is still called takes the slow path, and learns the stack anew */
	t->busy = 1;
	barrier();
	t->current = &no_stack;
	t->last = t->own = NULL;
	t->word = 0;
	memset(t->recent, 0, sizeof(t->recent));
	t->thread_top = 0;
	barrier();
	t->busy = 0;
	if (own && own->word == t->own_word)
		forget(own);
}

void graph_thread_forbid(void)
{
	graph_tls.busy = 1;
	barrier();
	graph_tls.forbidden = 1;
	graph_tls.current = &no_stack;
}

static void write_record(enum record_kind kind, uint32_t id)
{
	struct ring_slot slot;

	if (ring_reserve_call(ring_top, &slot, RECORD_GRAPH_BYTES))
		ring_commit(&slot, kind, id);
}

/*
 * Whether the word at @slot may be read: a stack that was left for good may be unmapped by now.
 * @near: an address that may be.
 */
static int readable(uint64_t slot, uint64_t near)
{
	uint8_t state;

	return (slot ^ near) < 4096 || !sys_mincore((void *)(slot & ~UINT64_C(4095)), 4096, &state);
}

/*
 * The innermost open call's function contains the address to which @slot returns: so the call was
 * made from there, on the same stack.
 */
static int called_by_innermost(const struct graph_stack *s, uint64_t slot)
{
	uint64_t return_address = *(const uint64_t *)slot, stub, id;
	const struct area_function *f;
	uint64_t start, end;

	if (s->open >= s->top || !readable(s->open, slot))
		return 0;
	stub = *(const uint64_t *)s->open;
	if (!graph_is_stub(stub))
		return 0;
	id = record_word_id(graph_table[(stub - (uint64_t)graph_stubs) / GRAPH_STUB_BYTES].word);
	f = area_function((uint32_t)id);
	start = area_object(f->object)->bias + f->offset;
	end = start + 65536;
	if (id + 1 < function_count() && area_function((uint32_t)id + 1)->object == f->object)
		end = start - f->offset + area_function((uint32_t)id + 1)->offset;
	return return_address >= start && return_address < end;
}

/*
 * Whether a learned stack reaches down to @slot: so near that it is likely, or so that the innermost
 * open call made this one.
 */
static int reaches(const struct graph_stack *s, uint64_t slot, uint64_t near)
{
	if (s->floor || slot >= s->top || slot >= s->lo || s->lo - slot > FIND_REACH)
		return 0;
	return s->lo - slot <= near || called_by_innermost(s, slot);
}

/* A stack whose thread has gone deeper than ever before when it comes back to it. */
static struct graph_stack *find_above(uint64_t slot)
{
	uint64_t granule = slot >> GRANULE_SHIFT, last = (slot + FIND_REACH) >> GRANULE_SHIFT;

	for (; granule <= last; granule++) {
		uint32_t h = graph_hash(granule), i;

		for (i = 0; i < PROBES; i++) {
			uint64_t entry = load_acquire(&tables->seen[(h + i) & (NR_SEEN - 1)]);
			struct graph_stack *s;

			if (!entry)
				break;
			if (entry >> 20 != granule)
				continue;
			s = &tables->stacks[(entry & 0xfffff) - 1];
			if (s->top && (covers(s, slot) || reaches(s, slot, FIND_NEAR)))
				return s;
		}
	}
	return NULL;
}

/* The stack that the thread was given. */
static struct graph_stack *own_stack(struct graph_tls *t, uint64_t floor, uint64_t slot)
{
	struct graph_stack *s = t->own;

	if (s && s->word == t->own_word && s->top)
		return s;
	forget_range(floor, t->thread_top);
	s = make(floor, slot, t->thread_top);
	if (s) {
		t->own_word = s->word;
		t->own = s;
	}
	return s;
}

/* The stack on which @slot lies, when it is not the current one or that is too short. */
static struct graph_stack *stack_of(struct graph_tls *t, struct graph_stack *current, uint64_t slot)
{
	struct graph_stack *s;
	uint64_t floor;

	if (current && covers(current, slot))
		return current;
	floor = t->thread_top - t->thread_bytes;
	if (t->thread_top && slot < t->thread_top && slot >= floor)
		return own_stack(t, floor, slot);
	s = find(slot);
	if (s)
		return s;
	if (current && reaches(current, slot, LEARN_REACH))
		return current;
	s = find_above(slot);
	if (s)
		return s;
	return make(0, slot, (slot | 4095) + 1);
}

/* Give the stack a shadow down to @slot, and some more. */
static int extend(struct graph_stack *s, uint64_t slot)
{
	uint64_t lo = slot > LEARN_BYTES ? slot - LEARN_BYTES : slot;

	if (s->floor) {
		lo = slot & ~((UINT64_C(1) << GRANULE_SHIFT) - 1);
		if (lo < s->floor)
			lo = s->floor;
	}
	if (!graph_shadow_map(lo, s->top))
		return 0;
	make_findable(row_of(s), lo, s->lo < s->top ? s->lo : s->top);
	s->lo = lo;
	return 1;
}

/* The top instance knows of calls with a record of the plain way, others of what is noted. */
static void count_gone(const struct graph_shadow *shadow, uint64_t slot, uint32_t gone[RING_MAX])
{
	if (shadow->link & GRAPH_SILENT)
		graph_calls_gone(slot, gone);
	else
		gone[0]++;
}

static void tell_gone(const struct graph_stack *s, const uint32_t gone[RING_MAX])
{
	if (load_relaxed(&graph_multi))
		graph_calls_unwound(s, gone);
	else if (gone[0])
		write_record(RECORD_UNWOUND, gone[0]);
}

/*
 * Calls that have vanished: those below @slot, the one at it if this is an entry, and those whose
 * slot no longer holds a stub's address. @returned: the thread comes back to this stack.
 * @gone: counts those of which each instance has an entry record.
 */
static void drop(struct graph_stack *s, uint64_t slot, enum graph_step step, int returned,
		 uint32_t gone[RING_MAX])
{
	uint32_t n = 0;

	while (s->open < s->top) {
		const struct graph_shadow *shadow;

		if (step == GRAPH_EXIT && s->open >= slot)
			break;
		if (step == GRAPH_ENTER && s->open > slot &&
		    (!returned || readable(s->open, slot)) &&
		    graph_is_stub(*(const uint64_t *)s->open))
			break;
		if (s->open < s->lo) { /* cannot be: it had a shadow when it was opened */
			s->open = s->top;
			break;
		}
		shadow = graph_shadow(s->open);
		count_gone(shadow, s->open, gone);
		n += !(shadow->link & GRAPH_SILENT) || shadow->calls;
		if (s->root == s->open)
			s->root = 0;
		if (s->hidden == s->open)
			s->hidden = 0;
		s->open = shadow->link & ~GRAPH_SILENT;
	}
	s->depth = s->depth > n ? s->depth - n : 0;
}

/*
 * A learned stack that was left with open calls and begins anew, a few bytes lower: the outermost old
 * slot still holds a stub's address, but the new call was made where that one was, and not by it.
 * @gone: as drop().
 */
static void drop_abandoned(struct graph_stack *s, uint64_t slot, uint32_t gone[RING_MAX])
{
	if (s->floor || s->open >= s->top || s->open - slot > ABANDONED_GAP ||
	    graph_shadow(s->open)->return_address != *(const uint64_t *)slot ||
	    called_by_innermost(s, slot))
		return;
	drop(s, s->open + 8, GRAPH_EXIT, 1, gone);
}

/*
 * Close the thread's fast path. If it is closed, then by a slow path that we have interrupted, or
 * by one that a handler's longjmp() left for good: then we are above it on the same stack.
 */
static int enter(struct graph_tls *t, uint64_t slot)
{
	if (t->busy) {
		const struct graph_stack *s = t->last;

		if (!s || slot <= t->busy_at || !covers(s, slot) || !covers(s, t->busy_at))
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

/* Make @s the stack on which what follows is recorded. Return whether it is another one. */
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

/* The stack on which @slot lies, with a shadow there; NULL: there is none to be had. */
static struct graph_stack *fitting_stack(struct graph_tls *t, uint64_t slot)
{
	struct graph_stack *s = stack_of(t, last_stack(t), slot);

	if (unlikely(!s))
		compare_and_store(&no_row, 0, 1);
	else if (unlikely(slot < s->lo && !extend(s, slot)))
		compare_and_store(&no_shadow, 0, 1);
	else
		return s;
	return NULL;
}

int graph_stack_slow(uint64_t slot, enum graph_step step)
{
	struct graph_tls *t = &graph_tls;
	uint32_t gone[RING_MAX] = {0}, turn;
	struct graph_stack *s;
	int returned;

	if (unlikely(t->forbidden || !tables)) {
		ring_count_untraced();
		return 0;
	}
	do {
		turn = t->turn;
		barrier();
		s = fitting_stack(t, slot);
		if (!s) {
			ring_count_untraced();
			return 0;
		}
		if (!load_relaxed(&graph_multi))
			ring_ready(ring_top, 3 * RECORD_GRAPH_BYTES);
		if (!enter(t, slot)) {
			if (load_relaxed(&graph_multi))
				graph_calls_count_nested();
			else
				ring_count_nested(ring_top);
			return 0;
		}
		/* if a handler came by meanwhile, what we know is old */
		if (t->turn != turn)
			leave(t, NULL);
	} while (t->turn != turn);
	returned = become(t, s);
	drop(s, slot, step, returned, gone);
	if (returned && step == GRAPH_ENTER)
		drop_abandoned(s, slot, gone);
	tell_gone(s, gone);
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
	/* ahead of the first call, where a handler may interrupt it */
	if (load_relaxed(&active))
		fitting_stack(t, top - 256);
}

void graph_stack_note(void)
{
	const struct graph_tls *t = &graph_tls;

	if (t->switched && t->word)
		write_record(RECORD_STACK, record_word_id(t->word));
}

void graph_stack_drop(uint64_t sp)
{
	struct graph_tls *t = &graph_tls;
	uint32_t gone[RING_MAX] = {0};
	struct graph_stack *s;

	if (!tables || t->forbidden || !t->word || !enter(t, sp))
		return;
	s = t->last && covers(t->last, sp) ? t->last : find(sp);
	if (!s || s->open >= sp) {
		leave(t, t->last);
		return;
	}
	drop(s, sp, GRAPH_EXIT, become(t, s), gone);
	tell_gone(s, gone);
	t->turn++;
	leave(t, s);
}
