/* SPDX-License-Identifier: MIT */
/*
 * See lock_order.h. Two graphs of fixed size, mapped once, which stay: one of classes, which is
 * never emptied, and one of single locks, for locks of one class, which is emptied when it is full.
 * Taking a lock while holding others costs one lookup for each held lock. A new dependency takes
 * the graphs' lock and a stack, and starts a breadth-first search for a way back, so that the
 * shortest cycle is reported.
 *
 * A dependency has lockdep's types: its first lock is held shared (S) or exclusively (E), its
 * second lock is taken by a reader (R) or not (N). A path that reaches a lock as R and leaves it as
 * S does not count, since readers do not lock out readers.
 *
 * Any context. A handler that interrupts its thread here, and a thread that would wait too long for
 * the graphs' lock, skip the dependency; it is seen the next time. fork: the child goes on with a
 * copy. Costs: bench "lock_order". Tests: tests/engine/events/lock_order.
 */
#include "engine/sources/lock_order.h"

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/hash.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/stack.h"
#include "engine/ring/ring.h"
#include "engine/sources/held.h"

#define MAX_HELD  8u
#define NR_EDGES  8192u /* of each graph; a power of two */
#define MAX_CHAIN 256u	/* links that a search without the lock follows */
#define MAX_SPINS 20000u

/* Bits of edge.types: 1 << (S * 2 + R). */
#define TYPES_OF_E 0x3u
#define TYPES_TO_N 0x5u

struct edge {
	uint64_t from, to;
	uint32_t types;
	uint32_t next_pair, next_from; /* next edge in the chain of the same hash, + 1 */
	uint32_t reported;	       /* the edge is in a cycle that was reported */
	uint64_t seen; /* number of the last search that came here, << 1, + 1 if as N */
	struct lock_dependency is;
};

struct graph {
	uint32_t nr;
	uint32_t by_pair[NR_EDGES], by_from[NR_EDGES]; /* first edges of the chains, + 1 */
	struct edge edges[NR_EDGES];
};

struct visit {
	uint32_t edge;
	uint32_t from; /* visit from which this one came, + 1 */
	uint32_t as_reader;
};

struct tables {
	struct graph classes, locks;
	struct visit visits[2 * NR_EDGES];
	struct lock_cycle cycles[LOCK_ORDER_REPORTS];
};

struct held_lock {
	const void *lock; /* NULL: the row is being filled in */
	uint64_t serial, site;
	uint32_t class, shared;
};

static __thread struct {
	uint32_t gen; /* generation of listeners for which the other fields hold */
	uint32_t nr;
	uint32_t inside;
	struct held_lock held[MAX_HELD];
} mine __attribute__((tls_model("initial-exec")));

static struct tables *tables;
static uint32_t gen;
static uint32_t changing; /* the graphs' lock */
static uint64_t searches;
static struct lock_order_counts counts;

static inline void renew(void)
{
	uint32_t now = load_relaxed(&gen);

	if (likely(mine.gen == now))
		return;
	mine.nr = 0;
	memset(mine.held, 0, sizeof(mine.held));
	barrier();
	mine.gen = now;
}

static uint32_t hash_of(uint64_t from, uint64_t to)
{
	return (uint32_t)(hash_u64(hash_u64(from) ^ to) >> 51);
}

/* Any thread may call it while another one adds an edge. @max: links that are followed. */
static struct edge *find(struct graph *g, uint64_t from, uint64_t to, uint32_t max)
{
	uint32_t i = load_acquire(&g->by_pair[hash_of(from, to)]);

	for (; i && max; i = load_acquire(&g->edges[i - 1].next_pair), max--)
		if (g->edges[i - 1].from == from && g->edges[i - 1].to == to)
			return &g->edges[i - 1];
	return NULL;
}

static struct edge *append(struct graph *g, uint64_t from, uint64_t to)
{
	uint32_t pair = hash_of(from, to), out = hash_of(from, 0);
	struct edge *e;

	if (g->nr == NR_EDGES) {
		counts.lost++;
		if (g == &tables->classes)
			return NULL;
		/* single locks come and go */
		memset(g->by_pair, 0, sizeof(g->by_pair));
		memset(g->by_from, 0, sizeof(g->by_from));
		counts.dependencies -= g->nr;
		g->nr = 0;
	}
	e = &g->edges[g->nr++];
	memset(e, 0, sizeof(*e));
	e->from = from;
	e->to = to;
	e->next_pair = g->by_pair[pair];
	e->next_from = g->by_from[out];
	store_release(&g->by_pair[pair], g->nr);
	store_release(&g->by_from[out], g->nr);
	counts.dependencies++;
	return e;
}

/* Add the dependencies from @at to the list of visits. Return: the list's new length. */
static uint32_t go_out(struct graph *g, uint64_t at, int as_reader, uint32_t from, uint32_t nr)
{
	uint32_t i = g->by_from[hash_of(at, 0)];

	for (; i; i = g->edges[i - 1].next_from) {
		struct edge *e = &g->edges[i - 1];
		uint32_t types = as_reader ? e->types & TYPES_OF_E : e->types;
		uint64_t as = searches << 1 | !!(types & TYPES_TO_N);

		if (e->from != at || !types || e->seen >= as)
			continue;
		e->seen = as;
		tables->visits[nr++] = (struct visit){i - 1, from, !(as & 1)};
	}
	return nr;
}

/*
 * Find the shortest way from @e's second lock back to its first one, which with @e makes a cycle.
 * Return: the last visit, + 1; 0: there is none.
 */
static uint32_t find_way(struct graph *g, const struct edge *e, int shared, int reader)
{
	uint32_t i, nr;

	searches++;
	nr = go_out(g, e->to, reader, 0, 0);
	for (i = 0; i < nr; i++) {
		const struct visit *v = &tables->visits[i];
		const struct edge *at = &g->edges[v->edge];

		if (at->to == e->from && !(v->as_reader && shared))
			return i + 1;
		nr = go_out(g, at->to, (int)v->as_reader, i + 1, nr);
	}
	return 0;
}

static const struct lock_cycle *keep_cycle(struct graph *g, struct edge *e, uint32_t way)
{
	struct lock_cycle *c;
	uint32_t i;

	e->reported = 1;
	for (i = way; i; i = tables->visits[i - 1].from)
		g->edges[tables->visits[i - 1].edge].reported = 1;
	if (counts.cycles++ >= LOCK_ORDER_REPORTS)
		return NULL;
	c = &tables->cycles[counts.cycles - 1];
	c->at[0] = e->is;
	c->nr = 1;
	for (i = way; i; i = tables->visits[i - 1].from, c->nr++)
		if (c->nr < LOCK_ORDER_LOCKS)
			c->at[c->nr] = g->edges[tables->visits[i - 1].edge].is;
	store_release(&c->number, (uint32_t)counts.cycles);
	return c;
}

/* Add a dependency. Return: a new cycle, or NULL. */
static const struct lock_cycle *add(struct graph *g, uint64_t from, uint64_t to, uint32_t type,
				    const struct lock_dependency *is)
{
	struct edge *e = find(g, from, to, UINT32_MAX);
	uint32_t way;

	if (!e) {
		e = append(g, from, to);
		if (!e)
			return NULL;
		e->is = *is;
	}
	if (e->types >> type & 1)
		return NULL;
	store_release(&e->types, e->types | 1u << type);
	way = e->reported ? 0 : find_way(g, e, (int)(type >> 1), (int)(type & 1));
	return way ? keep_cycle(g, e, way) : NULL;
}

static int enter(void)
{
	uint32_t spins;

	for (spins = 0; !compare_and_store(&changing, 0, 1); spins++) {
		if (spins == MAX_SPINS) {
			fetch_add(&counts.lost, 1);
			return 0;
		}
		arch_relax();
	}
	return 1;
}

/* Save the stack, from the call that takes the lock outwards. */
static void take_stack(struct lock_dependency *d, uint64_t site)
{
	uint64_t frames[LOCK_ORDER_FRAMES + 8];
	uint32_t nr = stack_save(frames, LOCK_ORDER_FRAMES + 8), from, i;

	for (from = 0; from < nr && frames[from] != site; from++)
		;
	if (from == nr)
		from = 0;
	if (!nr)
		frames[nr++] = site;
	d->nr_frames = nr - from < LOCK_ORDER_FRAMES ? nr - from : LOCK_ORDER_FRAMES;
	for (i = 0; i < d->nr_frames; i++)
		d->frames[i] = frames[from + i];
}

static __attribute__((noinline)) void depend(struct graph *g, const struct held_lock *h,
					     const struct lock_known *k, const struct lock_call *c)
{
	int by_class = g == &tables->classes;
	const struct lock_cycle *cycle = NULL;
	struct lock_dependency is = {
		.held = h->lock,
		.taken = c->lock,
		.held_site = h->site,
		.held_class = h->class,
		.taken_class = k->class,
		.held_shared = h->shared,
		.taken_shared = c->sort == LOCK_IS_READER,
		.tid = ring_thread_id(),
	};

	if (mine.inside)
		return;
	mine.inside = 1;
	barrier();
	str_copy(is.comm, sizeof(is.comm), ring_thread_comm());
	take_stack(&is, c->site);
	if (enter()) {
		cycle = add(g, by_class ? h->class : h->serial, by_class ? k->class : k->serial,
			    is.held_shared << 1 | is.taken_shared, &is);
		store_release(&changing, 0);
	}
	if (cycle)
		SOURCE_NOTIFY(struct lock_cycle_listener, load_acquire(&lock_cycles.first), cycle);
	barrier();
	mine.inside = 0;
}

/* The thread is about to take a lock, and may wait for it. */
static void note_acquire(const struct lock_call *c)
{
	uint32_t i, type, is_reader = c->sort == LOCK_IS_READER;
	struct lock_known k;

	renew();
	if (c->try || c->timed || !mine.nr || !tables)
		return;
	for (i = 0; i < mine.nr; i++)
		if (mine.held[i].lock == c->lock)
			return; /* the thread holds it already */
	k = lock_class_of(c->lock, c->site);
	for (i = 0; i < mine.nr && k.serial; i++) {
		const struct held_lock *h = &mine.held[i];
		int by_class = h->class && k.class && h->class != k.class;
		struct graph *g = by_class ? &tables->classes : &tables->locks;
		const struct edge *e;

		if (!h->lock || !h->serial)
			continue;
		type = h->shared << 1 | is_reader;
		e = find(g, by_class ? h->class : h->serial, by_class ? k.class : k.serial,
			 MAX_CHAIN);
		if (!e || !(load_relaxed(&e->types) >> type & 1))
			depend(g, h, &k, c);
	}
}

static void note_held(const struct lock_call *c, uint32_t before, uint32_t after)
{
	struct lock_known k;
	uint32_t i;

	renew();
	if (after > before) {
		if (mine.nr == MAX_HELD)
			return;
		i = mine.nr++;
		barrier(); /* locks that a handler takes go behind this one */
		k = lock_class_of(c->lock, c->site);
		mine.held[i].serial = k.serial;
		mine.held[i].class = k.class;
		mine.held[i].site = c->site;
		mine.held[i].shared = c->sort == LOCK_IS_READER;
		barrier();
		store_relaxed(&mine.held[i].lock, c->lock);
	} else if (after < before) {
		for (i = mine.nr; i-- > 0 && mine.held[i].lock != c->lock;)
			;
		if (i >= mine.nr)
			return;
		mine.held[i] = mine.held[mine.nr - 1];
		store_relaxed(&mine.held[mine.nr - 1].lock, NULL);
		barrier();
		mine.nr--;
	}
}

static struct lock_listener on_acquire = {.call = note_acquire};
static struct held_listener on_held = {.call = note_held};

static int start(void)
{
	int err;

	tables = sys_empty_table(tables, sizeof(*tables));
	if (!tables)
		return -ENOMEM;
	counts = (struct lock_order_counts){0};
	store_release(&gen, gen + 1);
	err = lock_class_start();
	if (!err)
		err = source_listen(&held_locks, &on_held.link);
	if (!err)
		err = source_listen(&lock_sources[LOCK_ACQUIRE], &on_acquire.link);
	return err;
}

static int want(struct source *s, int on)
{
	int err = on ? start() : 0;

	(void)s;
	if (!on || err) {
		source_ignore(&lock_sources[LOCK_ACQUIRE], &on_acquire.link);
		source_ignore(&held_locks, &on_held.link);
		lock_class_stop();
	}
	return err;
}

struct source lock_cycles = {.want = want};

struct lock_order_counts lock_order_count(void)
{
	return (struct lock_order_counts){load_relaxed(&counts.cycles),
					  load_relaxed(&counts.dependencies),
					  load_relaxed(&counts.lost)};
}

const struct lock_cycle *lock_order_cycle(uint32_t i)
{
	return tables && i < LOCK_ORDER_REPORTS && load_acquire(&tables->cycles[i].number)
		       ? &tables->cycles[i]
		       : NULL;
}

/* Another thread of the parent may have held the graphs' lock. */
static void fork_order(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		store_relaxed(&changing, 0);
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_order, NULL);
