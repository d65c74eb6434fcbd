/* SPDX-License-Identifier: MIT */
/*
 * See graph_stack.h. Owns the table of stacks, the hash that finds them by 64 KiB of address, and
 * the table of shadow memory that is mapped. Entries are claimed with one
 * compare-and-swap and never moved, so that any thread may look at any instruction.
 *
 * A handler may interrupt the slow path and take it itself; then the one below looks again. Only for
 * its last few steps is the thread's fast path closed (graph_tls.lo): the calls of a handler that
 * comes just then stay unwrapped, and are counted.
 *
 * fork: the child has one thread, its stacks and its shadow; open calls return as in the parent.
 * Costs: bench "coroutine". Tests: tests/engine/graph.
 */
#include "engine/hook/graph_stack.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/hook/graph.h"
#include "engine/ring/ring_write.h"

#define GRANULE_SHIFT 16
#define NR_STACKS     16384u
#define NR_SEEN	      65536u /* a power of two: pieces of stacks in the hash */
#define NR_MAPPED     65536u /* the same for blocks of shadow: 4 GiB of stacks */
#define BLOCK_SHIFT   18
#define PROBES	      64u
#define LEARN_BYTES   UINT64_C(512)
#define LEARN_REACH   UINT64_C(16384)
#define FIND_NEAR     UINT64_C(2048)
#define FIND_REACH    UINT64_C(65536)
#define KNOWN_BYTES   (UINT64_C(1) << 20) /* of a stack with bounds: findable at once */
#define ABANDONED_GAP UINT64_C(64)

struct stack {
	uint64_t top;	/* 0: the row is free */
	uint64_t lo;	/* what is known to be in use; has a shadow from here up */
	uint64_t floor; /* the stack's end; 0: learned, not known */
	uint64_t open;
	uint64_t root, hidden;
	uint32_t depth;
	uint32_t id; /* for RECORD_STACK */
	uint32_t claimed;
	struct graph_tls *holder; /* of the thread that ran on it last, where its end is seen */
};

static struct tables {
	struct stack stacks[NR_STACKS];
	uint64_t seen[NR_SEEN];	    /* granule << 20 | row + 1 */
	uint64_t mapped[NR_MAPPED]; /* block << 2 | enum */
	uint32_t hint;
	uint32_t last_id;
} * tables;

enum { MAPPED_PENDING = 1, MAPPED_YES = 2, MAPPED_REFUSED = 3 };

static int active; /* calls are being wrapped */

__thread struct graph_tls graph_tls __attribute__((tls_model("initial-exec")));

void graph_stacks_active(int on)
{
	store_relaxed(&active, on);
}

int graph_stacks_start(void)
{
	long p;

	if (tables)
		return 0;
	p = sys_mmap(NULL, sizeof(*tables), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	store_release(&tables, (struct tables *)p);
	return 0;
}

static uint32_t hash_of(uint64_t granule)
{
	return (uint32_t)((granule * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

/* Map it. Return: 0 or -errno. */
static int mmap_block(uint64_t block)
{
	void *want = (void *)(block << BLOCK_SHIFT);
	size_t bytes = (size_t)1 << BLOCK_SHIFT;
	long p = sys_mmap(want, bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (sys_failed(p))
		return (int)p;
	if ((void *)p == want)
		return 0;
	sys_munmap((void *)p, bytes); /* a kernel before 4.17 takes it for a hint */
	return -EEXIST;
}

/*
 * 256 KiB of shadow. While its entry is pending another thread is at it, or we are, below a handler:
 * whose mmap() succeeds has it, but only the first comer knows that somebody else's memory is there.
 * Return whether it is there.
 */
static int map_block(uint64_t block)
{
	uint32_t h = hash_of(block), i;

	for (i = 0; i < PROBES; i++) {
		uint64_t *at = &tables->mapped[(h + i) & (NR_MAPPED - 1)];
		uint64_t entry = load_acquire(at);
		int first = 0, err;

		if (!entry) {
			if (ring_growth_forbidden())
				return 0;
			entry = block << 2 | MAPPED_PENDING;
			first = compare_and_store(at, 0, entry);
			if (!first)
				entry = load_acquire(at);
		}
		if (entry >> 2 != block)
			continue;
		if ((entry & 3) != MAPPED_PENDING)
			return (entry & 3) == MAPPED_YES;
		err = mmap_block(block);
		if (!err)
			store_release(at, block << 2 | MAPPED_YES);
		else if (first && !compare_and_store(at, entry, block << 2 | MAPPED_REFUSED))
			err = 0; /* a handler on top of us was faster */
		return !err;
	}
	return 0;
}

/* The shadow of all slots from @lo up to and with @hi. */
static int map_shadow(uint64_t lo, uint64_t hi)
{
	uint64_t block = (uint64_t)graph_shadow(lo) >> BLOCK_SHIFT;
	uint64_t last = (uint64_t)graph_shadow(hi) >> BLOCK_SHIFT;

	for (; block <= last; block++)
		if (!map_block(block))
			return 0;
	return 1;
}

/* Let the hash lead from each piece of @lo .. @hi to the row. */
static void make_findable(uint32_t row, uint64_t lo, uint64_t hi)
{
	uint64_t granule;

	for (granule = lo >> GRANULE_SHIFT; granule <= hi >> GRANULE_SHIFT; granule++) {
		uint64_t entry = granule << 20 | (row + 1);
		uint32_t h = hash_of(granule), i;

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

	return map_shadow(slot, slot) ? 0 : -EEXIST;
}

static int covers(const struct stack *s, uint64_t slot)
{
	return slot < s->top && slot >= (s->floor ? s->floor : s->lo);
}

/* The row of the stack on which a slot lies; NULL if none is known there. */
static struct stack *find(uint64_t slot)
{
	uint64_t granule = slot >> GRANULE_SHIFT;
	uint32_t h = hash_of(granule), i;

	for (i = 0; i < PROBES; i++) {
		uint64_t entry = load_acquire(&tables->seen[(h + i) & (NR_SEEN - 1)]);
		struct stack *s;

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

static uint32_t row_of(const struct stack *s)
{
	return (uint32_t)(s - tables->stacks);
}

/* A free row for a stack without a shadow yet. @floor: 0 if it has to be learned. @lo: a slot. */
static struct stack *make(uint64_t floor, uint64_t lo, uint64_t top)
{
	uint32_t i, at = load_relaxed(&tables->hint);

	for (i = 0; i < NR_STACKS; i++, at++) {
		struct stack *s = &tables->stacks[at % NR_STACKS];

		if (load_relaxed(&s->claimed) || !compare_and_store(&s->claimed, 0, 1))
			continue;
		store_relaxed(&tables->hint, at + 1);
		s->id = fetch_add(&tables->last_id, 1) + 1;
		s->lo = top;
		s->floor = floor;
		s->open = top;
		s->root = s->hidden = 0;
		s->depth = 0;
		s->holder = NULL;
		store_release(&s->top, top);
		make_findable(row_of(s), lo, top);
		return s;
	}
	return NULL;
}

static void forget(struct stack *s)
{
	store_release(&s->top, 0);
	store_release(&s->claimed, 0);
}

/* What lies in @lo .. @hi belongs to stacks that are no more. */
static void forget_range(uint64_t lo, uint64_t hi)
{
	uint32_t i;

	for (i = 0; i < NR_STACKS; i++) {
		struct stack *s = &tables->stacks[i];
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

static void store_current(const struct graph_tls *t, struct stack *s)
{
	s->open = t->open;
	s->root = t->root;
	s->hidden = t->hidden;
	s->depth = t->depth;
}

static void load_current(struct graph_tls *t, const struct stack *s)
{
	t->open = s->open;
	t->top = s->top;
	t->root = s->root;
	t->hidden = s->hidden;
	t->depth = s->depth;
}

static struct stack *current_stack(const struct graph_tls *t)
{
	struct stack *s = t->stack ? &tables->stacks[t->stack - 1] : NULL;

	return s && s->top && s->id == t->stack_id ? s : NULL;
}

void graph_thread_end(void)
{
	struct graph_tls *t = &graph_tls;
	struct stack *own = t->own ? &tables->stacks[t->own - 1] : NULL;
	struct stack *s = current_stack(t);

	t->lo = UINT64_MAX; /* what is still called takes the slow path, and learns the stack anew */
	barrier();
	if (s && s->holder == t) {
		store_current(t, s);
		s->holder = NULL;
	}
	if (own && own->id == t->own_id)
		forget(own);
	t->thread_top = 0;
	t->own = t->stack = 0;
}

void graph_thread_forbid(void)
{
	graph_tls.lo = UINT64_MAX;
	barrier();
	graph_tls.forbidden = 1;
	graph_tls.open = 0;
}

static void write_record(enum record_kind kind, uint32_t id)
{
	struct ring_slot slot;

	if (ring_reserve(ring_top, &slot, RECORD_GRAPH_BYTES))
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
static int called_by_innermost(const struct stack *s, uint64_t slot)
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
static int reaches(const struct stack *s, uint64_t slot, uint64_t near)
{
	if (s->floor || slot >= s->top || slot >= s->lo || s->lo - slot > FIND_REACH)
		return 0;
	return s->lo - slot <= near || called_by_innermost(s, slot);
}

/* A stack whose thread has gone deeper than ever before when it comes back to it. */
static struct stack *find_above(uint64_t slot)
{
	uint64_t granule = slot >> GRANULE_SHIFT, last = (slot + FIND_REACH) >> GRANULE_SHIFT;

	for (; granule <= last; granule++) {
		uint32_t h = hash_of(granule), i;

		for (i = 0; i < PROBES; i++) {
			uint64_t entry = load_acquire(&tables->seen[(h + i) & (NR_SEEN - 1)]);
			struct stack *s;

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
static struct stack *own_stack(struct graph_tls *t, uint64_t floor, uint64_t slot)
{
	struct stack *s = t->own ? &tables->stacks[t->own - 1] : NULL;

	if (s && s->id == t->own_id && s->top)
		return s;
	forget_range(floor, t->thread_top);
	s = make(floor, slot, t->thread_top);
	if (s) {
		t->own = row_of(s) + 1;
		t->own_id = s->id;
	}
	return s;
}

/* The stack on which @slot lies, when it is not the current one or that is too short. */
static struct stack *stack_of(struct graph_tls *t, struct stack *current, uint64_t slot)
{
	struct stack *s;
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
static int extend(struct stack *s, uint64_t slot)
{
	uint64_t lo = slot > LEARN_BYTES ? slot - LEARN_BYTES : slot;

	if (s->floor) {
		lo = slot & ~((UINT64_C(1) << GRANULE_SHIFT) - 1);
		if (lo < s->floor)
			lo = s->floor;
	}
	if (!map_shadow(lo, s->top))
		return 0;
	make_findable(row_of(s), lo, s->lo < s->top ? s->lo : s->top);
	s->lo = lo;
	return 1;
}

/*
 * Calls that have vanished: those below @slot, the one at it if this is an entry, and those whose
 * slot no longer holds a stub's address. @returned: the thread comes back to this stack.
 * Return: how many had an entry record.
 */
static uint32_t drop(struct stack *s, uint64_t slot, enum graph_step step, int returned)
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
		n += !(shadow->link & GRAPH_SILENT);
		if (s->root == s->open)
			s->root = 0;
		if (s->hidden == s->open)
			s->hidden = 0;
		s->open = shadow->link & ~GRAPH_SILENT;
	}
	s->depth = s->depth > n ? s->depth - n : 0;
	return n;
}

/*
 * A learned stack that was left with open calls and begins anew, a few bytes lower: the outermost old
 * slot still holds a stub's address, but the new call was made where that one was, and not by it.
 * Return: as drop().
 */
static uint32_t drop_abandoned(struct stack *s, uint64_t slot)
{
	if (s->floor || s->open >= s->top || s->open - slot > ABANDONED_GAP ||
	    graph_shadow(s->open)->return_address != *(const uint64_t *)slot ||
	    called_by_innermost(s, slot))
		return 0;
	return drop(s, s->open + 8, GRAPH_EXIT, 1);
}

/*
 * Close the thread's fast path. If it is closed, then by a slow path that we have interrupted, or
 * by one that a handler's longjmp() left for good: then we are above it on the same stack.
 */
static int enter(struct graph_tls *t, uint64_t slot)
{
	if (t->busy) {
		const struct stack *s = current_stack(t);

		if (!s || slot <= t->busy_at || !covers(s, slot) || !covers(s, t->busy_at))
			return 0;
	}
	t->busy_at = slot;
	t->busy = 1;
	barrier();
	t->lo = UINT64_MAX;
	barrier();
	return 1;
}

static void leave(struct graph_tls *t, const struct stack *s)
{
	barrier();
	t->lo = s ? s->lo : UINT64_MAX;
	barrier();
	t->busy = 0;
}

/*
 * Another thread ran on the stack last, and has done nothing since by which we would know that it
 * left: its words are newer than the row's. From here on it has to look where it is.
 */
static void take_over(struct stack *s, struct graph_tls *holder)
{
	if (load_acquire(&holder->stack) != row_of(s) + 1)
		return;
	store_current(holder, s);
	store_release(&holder->lo, UINT64_MAX);
	store_release(&holder->open, 0);
	compare_and_store(&holder->stack, row_of(s) + 1, 0);
}

/* Make @s the stack on which the thread runs. */
static void become(struct graph_tls *t, struct stack *current, struct stack *s)
{
	if (s == current)
		return;
	if (current)
		current->holder = NULL;
	if (s->holder && s->holder != t)
		take_over(s, s->holder);
	s->holder = t->thread_top ? t : NULL;
	t->switched |= t->stack != 0;
	t->stack = row_of(s) + 1;
	t->stack_id = s->id;
	write_record(RECORD_STACK, s->id & RECORD_ID_MAX);
}

/* The stack on which @slot lies, with a shadow there; NULL: there is none to be had. */
static struct stack *fitting_stack(struct graph_tls *t, uint64_t slot)
{
	struct stack *current = current_stack(t), *s;

	if (current)
		store_current(t, current);
	s = stack_of(t, current, slot);
	return s && (slot >= s->lo || extend(s, slot)) ? s : NULL;
}

int graph_stack_slow(uint64_t slot, enum graph_step step)
{
	struct graph_tls *t = &graph_tls;
	struct stack *current, *s;
	uint32_t vanished, turn;

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
		ring_ready(ring_top, 3 * RECORD_GRAPH_BYTES);
		if (!enter(t, slot)) {
			ring_count_nested();
			return 0;
		}
		/* if a handler came by meanwhile, what we know is old */
		if (t->turn != turn)
			leave(t, NULL);
	} while (t->turn != turn);
	current = current_stack(t);
	if (current)
		store_current(t, current);
	become(t, current, s);
	vanished = drop(s, slot, step, s != current);
	if (s != current && step == GRAPH_ENTER)
		vanished += drop_abandoned(s, slot);
	if (vanished)
		write_record(RECORD_UNWOUND, vanished);
	if (step == GRAPH_EXIT)
		s->open = slot;
	load_current(t, s);
	t->turn++;
	leave(t, s);
	return 1;
}

void graph_thread_start(uint64_t top, uint64_t bytes)
{
	struct graph_tls *t = &graph_tls;

	*t = (struct graph_tls){.thread_top = top, .thread_bytes = bytes};
	/* ahead of the first call, where a handler may interrupt it */
	if (load_relaxed(&active))
		fitting_stack(t, top - 256);
}

void graph_stack_note(void)
{
	const struct graph_tls *t = &graph_tls;
	const struct stack *s = t->switched ? current_stack(t) : NULL;

	if (s)
		write_record(RECORD_STACK, s->id & RECORD_ID_MAX);
}

void graph_stack_drop(uint64_t sp)
{
	struct graph_tls *t = &graph_tls;
	struct stack *current, *s;
	uint32_t vanished;

	if (!tables || t->forbidden || !t->stack || !enter(t, sp))
		return;
	current = current_stack(t);
	if (current)
		store_current(t, current);
	s = current && covers(current, sp) ? current : find(sp);
	if (!s || s->open >= sp) {
		leave(t, current);
		return;
	}
	become(t, current, s);
	vanished = drop(s, sp, GRAPH_EXIT, s != current);
	if (vanished)
		write_record(RECORD_UNWOUND, vanished);
	load_current(t, s);
	t->turn++;
	leave(t, s);
}
