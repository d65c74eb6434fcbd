/* SPDX-License-Identifier: MIT */
/*
 * See work.h. Owns the pools' names, which stay for ever, and the waiting items: a table in which
 * an item may be in one of a few neighbouring slots, so that it is found without a lock. fork: the
 * child has the same pools and items. Costs: two stamps and two lookups for each item. Tests:
 * tests/engine/tracers/workqueue.
 */
#include "engine/sources/work.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/ring/ring.h"

#define SLOTS	  131072u
#define WINDOW	  64u /* slots in which an item may be */
#define MAX_SPINS 100000u

enum { FREE, TAKEN, WAITS };

struct item {
	uint64_t state;
	uint64_t item, ns, function;
	uint64_t pool;
};

struct pool {
	uint64_t state;
	uint64_t function;
	char name[WORK_NAME_BYTES];
};

static struct item *items; /* SLOTS of them; NULL: never needed yet */
static struct pool pools[WORK_POOLS] BIG_ZEROS;
static uint64_t unknown;

static int claim(uint64_t *state, uint64_t from)
{
	return compare_and_store(state, from, TAKEN);
}

static int is_pool(const struct pool *p, const char *name, uint64_t function)
{
	return p->function == function && str_equal(p->name, name);
}

uint32_t work_pool_of(const char *from, uint64_t function)
{
	char name[WORK_NAME_BYTES];
	uint32_t i, spins;

	str_copy(name, sizeof(name), from);
	for (i = 0; i < WORK_POOLS; i++) {
		struct pool *p = &pools[i];

		if (load_acquire(&p->state) == FREE && claim(&p->state, FREE)) {
			memcpy(p->name, name, sizeof(name));
			p->function = function;
			store_release(&p->state, WAITS);
			return i;
		}
		/*
		 * another thread is about to fill in the name; if a handler interrupted that thread
		 * here, it never does
		 */
		for (spins = 0; load_acquire(&p->state) == TAKEN && spins < MAX_SPINS; spins++)
			arch_relax();
		if (load_acquire(&p->state) == TAKEN)
			break;
		if (is_pool(p, name, function))
			return i;
	}
	fetch_add(&unknown, 1);
	return WORK_POOLS;
}

int work_pool(uint32_t i, const char **name, uint64_t *function)
{
	if (i >= WORK_POOLS || load_acquire(&pools[i].state) != WAITS)
		return 0;
	*name = pools[i].name;
	*function = pools[i].function;
	return 1;
}

uint64_t work_unknown(void)
{
	return load_relaxed(&unknown);
}

static struct item *places_of(const void *item)
{
	uint64_t h = hash_u64((uint64_t)item);

	return &items[(h >> 32) % (SLOTS - WINDOW)];
}

int work_queue(uint32_t pool, const void *item, uint64_t function, int only)
{
	struct item *places = places_of(item);
	struct work_taken old;
	uint32_t i;

	while (only && work_take(pool, item, &old))
		;
	for (i = 0; i < WINDOW; i++)
		if (load_relaxed(&places[i].state) == FREE && claim(&places[i].state, FREE)) {
			places[i].item = (uint64_t)item;
			places[i].pool = pool;
			places[i].function = function;
			places[i].ns = ring_clock_mono();
			store_release(&places[i].state, WAITS);
			return 1;
		}
	return 0;
}

int work_take(uint32_t pool, const void *item, struct work_taken *taken)
{
	struct item *places = places_of(item), *first;
	uint32_t i;

	do {
		first = NULL;
		for (i = 0; i < WINDOW; i++)
			if (load_acquire(&places[i].state) == WAITS &&
			    places[i].item == (uint64_t)item && places[i].pool == pool &&
			    (!first || places[i].ns < first->ns))
				first = &places[i];
		if (!first)
			return 0;
		/* another thread took the item, and may even have put another one there */
	} while (!claim(&first->state, WAITS));
	if (first->item != (uint64_t)item || first->pool != pool) {
		store_release(&first->state, WAITS);
		return work_take(pool, item, taken);
	}
	*taken = (struct work_taken){first->function, ring_clock_mono() - first->ns};
	store_release(&first->state, FREE);
	return 1;
}

void work_report(enum work_what what, uint32_t pool, uint64_t waited_ns)
{
	const struct work w = {what, pool, waited_ns};

	if (pool < WORK_POOLS)
		SOURCE_NOTIFY(struct work_listener, load_acquire(&works.first), &w);
}

int work_say(int what, const char *name, const void *item)
{
	struct work_taken taken = {0, UINT64_MAX};
	uint32_t pool;

	if (what < WORK_QUEUE || what > WORK_CANCEL || !name || !item)
		return -EINVAL;
	if (!load_acquire(&works.first))
		return 0;
	pool = work_pool_of(name, 0);
	if (pool == WORK_POOLS)
		return 0;
	if (what == WORK_QUEUE)
		work_queue(pool, item, 0, 0);
	else if (what != WORK_END)
		work_take(pool, item, &taken);
	work_report((enum work_what)what, pool, taken.waited_ns);
	return 0;
}

static int want(struct source *s, int on)
{
	int err = sys_map_table_once(&items, SLOTS * sizeof(*items));

	(void)s;
	/* an item that was queued without a listener is not in the table, so its wait is unknown */
	return err ? err : work_pools_want(on);
}

struct source works = {.want = want};
