/* SPDX-License-Identifier: MIT */
/*
 * See graph_rows.h. Owns the rows, the list of free rows, and the index by address. A row never
 * moves. When it is used again it gets another `word`: no two stacks have the same.
 *
 * The index is a hash table from a piece of address space (a unit) to the rows that overlap it.
 * Units have one of five sizes, so that each stack has at most NR_UNITS + 1 of them. A removed
 * entry leaves a mark, which a new entry may replace. A search reads at most WINDOW places.
 *
 * The end of a coroutine's stack is not reported. Its row is freed when another stack is made at
 * the same addresses, or after its memory has been unmapped: each new row examines SWEEP others.
 *
 * Any context: no lock. fork: a copy, without the stacks of threads that are not in the child.
 * Costs: bench/stacks.c. Tests: tests/engine/graph/rounds, manystacks.
 */
#include "engine/hook/graph/graph_rows.h"

#include <errno.h>

#include "abi/record.h"
#include "arch_barrier.h"
#include "engine/arch/read_memory.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_shadow.h"
#include "engine/ring/ring.h"

#define NR_PLACES (1u << 20) /* of the hash table */
#define WINDOW	  64u
#define NR_UNITS  8u
#define LEARNED	  1u /* the level of rows without a known lower end */
#define ROW_BITS  18
#define UNIT_BITS 36
#define REMOVED	  1u /* mark of a removed entry; as an entry it would be row 0 in the first unit */
#define SWEEP	  4u
#define SWEEP_MIN 512u /* with fewer rows no row is examined */

static_assert(GRAPH_ROWS < 1u << ROW_BITS, "a row fits into an entry");

static const uint8_t shifts[] = {12, 16, 20, 24, 28};

static struct table {
	struct graph_stack rows[GRAPH_ROWS];
	uint64_t places[NR_PLACES]; /* level, unit, row + 1 */
	uint64_t free;	  /* head of the list of free rows: number of changes << 32 | row + 1 */
	uint32_t nr_used; /* rows that have ever been used */
	uint32_t nr_live;
	uint32_t last_id;
	uint32_t hand;	 /* the next row to examine */
	uint32_t levels; /* a bit for each level that has had rows */
} * table;

int graph_rows_start(void)
{
	return sys_map_table_once(&table, sizeof(*table));
}

static uint32_t row_of(const struct graph_stack *s)
{
	return (uint32_t)(s - table->rows);
}

/* ---- the index ---- */

static uint64_t key_of(uint32_t level, uint64_t address)
{
	uint64_t unit = address >> shifts[level] & ((UINT64_C(1) << UNIT_BITS) - 1);

	return (uint64_t)level << UNIT_BITS | unit;
}

static uint64_t *place(uint64_t key, uint32_t i)
{
	return &table->places[(graph_hash(key) + i) & (NR_PLACES - 1)];
}

static void index_add(uint64_t key, uint32_t row)
{
	uint64_t entry = key << ROW_BITS | (row + 1);
	uint32_t i;

	for (i = 0; i < WINDOW; i++) {
		uint64_t *at = place(key, i), was = load_relaxed(at);

		if (was == entry || (was <= REMOVED && compare_and_store(at, was, entry)))
			return;
	}
}

static void index_remove(uint64_t key, uint32_t row)
{
	uint64_t entry = key << ROW_BITS | (row + 1);
	uint32_t i;

	for (i = 0; i < WINDOW; i++) {
		uint64_t *at = place(key, i), was = load_relaxed(at);

		if (!was)
			return;
		if (was == entry)
			compare_and_store(at, entry, REMOVED);
	}
}

/*
 * The next row with an entry of @key, from place *@i on; *@i moves behind it. NULL: there is none.
 * The row may have become another stack's meanwhile.
 */
static struct graph_stack *next_of(uint64_t key, uint32_t *i)
{
	while (*i < WINDOW) {
		uint64_t entry = load_acquire(place(key, (*i)++));

		if (!entry)
			return NULL;
		if (entry >> ROW_BITS == key && entry != REMOVED)
			return &table->rows[(entry & ((1u << ROW_BITS) - 1)) - 1];
	}
	return NULL;
}

static uint32_t level_for(uint64_t bytes)
{
	uint32_t level = 0;

	while (level + 1 < ARRAY_SIZE(shifts) && bytes > (uint64_t)NR_UNITS << shifts[level])
		level++;
	return level;
}

/* Do @what for each unit of the row's level in @lo .. @hi. */
static void each_unit(const struct graph_stack *s, uint64_t lo, uint64_t hi,
		      void (*what)(uint64_t key, uint32_t row))
{
	uint64_t step = UINT64_C(1) << shifts[s->level], at;

	for (at = lo & ~(step - 1); at < hi; at += step)
		what(key_of(s->level, at), row_of(s));
}

/* ---- rows ---- */

/* A consistent read of a row: `word` is stored first, `top` last. */
static int covers_now(const struct graph_stack *s, uint64_t slot)
{
	uint64_t word = load_acquire(&s->word), top = load_acquire(&s->top);
	uint64_t floor = load_acquire(&s->floor), lo = load_acquire(&s->lo);

	return slot < top && slot >= (floor ? floor : lo) && load_acquire(&s->word) == word;
}

struct graph_stack *graph_row_find(uint64_t slot)
{
	uint32_t levels = load_relaxed(&table->levels), level, i;
	struct graph_stack *s;

	for (level = 0; level < ARRAY_SIZE(shifts); level++) {
		uint64_t key = key_of(level, slot);

		if (!(levels >> level & 1))
			continue;
		for (i = 0; (s = next_of(key, &i)) != NULL;)
			if (covers_now(s, slot))
				return s;
	}
	return NULL;
}

/*
 * A coroutine's stack may disappear unnoticed. So for a stack that the thread is not on, check that
 * the slot of an open call holds a stub's address.
 */
int graph_row_may_be_open(uint64_t slot, uint64_t stack, uint64_t at)
{
	const struct graph_stack *s = graph_row_find(slot);
	uint64_t word = 0;
	int own = s && load_relaxed(&s->word) == graph_tls.word;

	if (!s || (own && slot < at))
		return 0;
	if (!stack)
		return 1;
	if (load_relaxed(&s->word) != stack || slot < load_relaxed(&s->open))
		return 0;
	if (own || sys_is_forbidden())
		return 1;
	return sys_read_memory(sys_own_tid(), slot, &word, sizeof(word)) == (long)sizeof(word) &&
	       graph_is_stub(word);
}

/* A new head word for a stack's RECORD_STACK, different from all before. */
static uint64_t next_word(void)
{
	uint64_t id = (fetch_add(&table->last_id, 1) + 1) & RECORD_ID_MAX;

	return (uint64_t)RECORD_STACK << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;
}

static struct graph_stack *take_row(void)
{
	uint64_t head = load_acquire(&table->free);
	uint32_t used;

	while ((uint32_t)head) {
		struct graph_stack *s = &table->rows[(uint32_t)head - 1];
		uint64_t next = ((head >> 32) + 1) << 32 | load_relaxed(&s->level);

		if (compare_and_store(&table->free, head, next))
			return s;
		head = load_acquire(&table->free);
	}
	used = load_relaxed(&table->nr_used);
	while (used < GRAPH_ROWS) {
		if (compare_and_store(&table->nr_used, used, used + 1))
			return &table->rows[used];
		used = load_relaxed(&table->nr_used);
	}
	return NULL;
}

static void give_row(struct graph_stack *s)
{
	uint64_t head, next;

	do {
		head = load_acquire(&table->free);
		store_relaxed(&s->level, (uint32_t)head);
		next = ((head >> 32) + 1) << 32 | (row_of(s) + 1);
	} while (!compare_and_store(&table->free, head, next));
}

/* Whether nothing is mapped at the end of a stack any more. */
static int is_gone(uint64_t top)
{
	uint8_t state;

	return sys_mincore((void *)((top - 8) & ~UINT64_C(4095)), 4096, &state) == -ENOMEM;
}

/* Examine the next few rows. */
static void sweep(void)
{
	uint32_t used = load_relaxed(&table->nr_used), i;

	if (load_relaxed(&table->nr_live) < SWEEP_MIN || sys_is_forbidden())
		return;
	for (i = 0; i < SWEEP; i++) {
		struct graph_stack *s = &table->rows[fetch_add(&table->hand, 1) % used];
		uint64_t top = load_acquire(&s->top);

		if (top && is_gone(top))
			graph_row_forget(s);
	}
}

struct graph_stack *graph_row_make(uint64_t floor, uint64_t lo, uint64_t top)
{
	struct graph_stack *s;

	sweep();
	if (!floor && load_relaxed(&table->nr_live) >= GRAPH_LEARNED)
		return NULL;
	s = take_row();
	if (!s)
		return NULL;
	fetch_add(&table->nr_live, 1);
	store_release(&s->word, next_word());
	s->level = floor ? level_for(top - floor) : LEARNED;
	s->lo = top;
	s->shadow = (uint64_t)graph_shadow(top - 8) - 4 * (top - 8);
	s->floor = floor;
	s->open = top;
	s->root = s->hidden = 0;
	s->depth = 0;
	s->is_thread = 0;
	s->doubt_lo = 0;
	s->is_crowded = 0;
	s->profiled = 0;
	memset(s->skipped, 0, sizeof(s->skipped));
	s->filters = load_relaxed(&graph_filters);
	if (!(load_relaxed(&table->levels) >> s->level & 1))
		__atomic_fetch_or(&table->levels, 1u << s->level, __ATOMIC_RELAXED);
	store_release(&s->top, top);
	each_unit(s, floor ? floor : lo, top, index_add);
	return s;
}

void graph_row_extend(struct graph_stack *s, uint64_t lo)
{
	each_unit(s, lo, s->lo < s->top ? s->lo : s->top, index_add);
}

/* The lowest address by which the row is found. A doubted row keeps what it had. */
static uint64_t found_from(const struct graph_stack *s, uint64_t top)
{
	uint64_t lo = s->floor ? s->floor : load_acquire(&s->lo);

	return lo >= top && s->doubt_lo ? s->doubt_lo : lo;
}

void graph_row_forget(struct graph_stack *s)
{
	uint64_t top = load_acquire(&s->top);

	if (!top || !compare_and_store(&s->top, top, 0))
		return;
	each_unit(s, found_from(s, top), top, index_remove);
	/* a thread whose last stack it was takes the slow path */
	store_relaxed(&s->open, 0);
	store_release(&s->lo, UINT64_MAX);
	fetch_add(&table->nr_live, UINT32_MAX);
	give_row(s);
}

static int reaches_into(const struct graph_stack *s, uint64_t lo, uint64_t hi)
{
	uint64_t top = load_acquire(&s->top);

	return top > lo && found_from(s, top) < hi;
}

/* Goes row by row if the range has more units than there are rows. */
int graph_rows_each(uint64_t lo, uint64_t hi, int (*what)(struct graph_stack *s, void *arg),
		    void *arg)
{
	uint32_t levels = load_relaxed(&table->levels), used = load_relaxed(&table->nr_used);
	uint32_t level, i;
	struct graph_stack *s;

	for (level = 0; level < ARRAY_SIZE(shifts); level++) {
		uint64_t step = UINT64_C(1) << shifts[level], at;

		if (!(levels >> level & 1))
			continue;
		if ((hi - lo) >> shifts[level] > used)
			break;
		for (at = lo & ~(step - 1); at < hi; at += step)
			for (i = 0; (s = next_of(key_of(level, at), &i)) != NULL;)
				if (reaches_into(s, lo, hi) && !what(s, arg))
					return 0;
	}
	if (level == ARRAY_SIZE(shifts))
		return 1;
	for (i = 0; i < used; i++)
		if (reaches_into(&table->rows[i], lo, hi) && !what(&table->rows[i], arg))
			return 0;
	return 1;
}

static int forget_one(struct graph_stack *s, void *arg)
{
	(void)arg;
	graph_row_forget(s);
	return 1;
}

void graph_rows_forget(uint64_t lo, uint64_t hi)
{
	graph_rows_each(lo, hi, forget_one, NULL);
}

static int leave_one(struct graph_stack *s, void *arg)
{
	uint64_t top = load_acquire(&s->top);

	(void)arg;
	if (top && !is_gone(top))
		return 0;
	graph_row_forget(s);
	return 1;
}

int graph_rows_leave(uint64_t lo, uint64_t hi)
{
	return graph_rows_each(lo, hi, leave_one, NULL);
}

void graph_rows_keep_thread(const struct graph_stack *own)
{
	uint32_t used, i;

	if (!load_acquire(&table))
		return;
	used = load_relaxed(&table->nr_used);
	for (i = 0; i < used; i++) {
		struct graph_stack *s = &table->rows[i];

		if (s != own && s->is_thread)
			graph_row_forget(s);
	}
}
