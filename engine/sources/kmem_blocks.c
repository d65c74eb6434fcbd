/* SPDX-License-Identifier: MIT */
/*
 * See kmem_blocks.h. A hash table of buckets, each with one cache line of keys. Neighbours in
 * memory have neighbouring buckets: each 128 bytes of heap have one bucket, so a small heap touches
 * few pages. A full bucket counts the blocks that went to other buckets, and a search goes on only
 * if that count is not 0; so a removed block leaves no mark. One thread at a time adds or removes a
 * given block, because the program's own use is in that order; other blocks of the bucket are not
 * disturbed. A table is mapped once and stays. Any context, no lock. fork: the child has a copy.
 * Costs: bench "kmemtrace". Tests: tests/engine/tracers/kmemtrace.
 */
#include "engine/sources/kmem_blocks.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/process/clock.h"
#include "engine/ring/ring.h"

#define NR_BUCKETS     (UINT64_C(1) << 21)
#define WAYS	       7u
#define MAX_STEPS      64u
#define BUCKETS_A_PAGE (4096u / sizeof(struct bucket))

struct bucket {
	uint64_t key[WAYS]; /* 0: free */
	uint32_t elsewhere, unused;
};

struct value {
	uint64_t size;	/* bytes << 24 | waste */
	uint64_t owner; /* moment << 24 | owner */
};

static struct bucket *buckets;
static struct value *values; /* WAYS for each bucket */
static uint64_t *touched;    /* a bit for each page of buckets */
/* ns_per_unit: << 32; start: ring_clock() at kmem_blocks_start() */
static uint64_t ns_per_unit, start;
static uint64_t (*owner_site)(uint32_t owner);

#define HOME_BYTES    128u /* of memory that share a home bucket */
#define BUCKET_BYTES  (NR_BUCKETS * sizeof(struct bucket))
#define VALUE_BYTES   (NR_BUCKETS * WAYS * sizeof(struct value))
#define TOUCHED_BYTES (NR_BUCKETS / BUCKETS_A_PAGE / 8)

int kmem_blocks_start(uint64_t (*site_of)(uint32_t owner))
{
	struct bucket *b = sys_empty_table(buckets, BUCKET_BYTES);

	values = sys_empty_table(values, VALUE_BYTES);
	touched = sys_empty_table(touched, TOUCHED_BYTES);
	if (!b || !values || !touched) {
		if (b && !buckets)
			sys_munmap(b, BUCKET_BYTES);
		return -ENOMEM;
	}
	store_release(&buckets, b);
	ns_per_unit = clock_unit_ns();
	start = ring_clock();
	store_release(&owner_site, site_of);
	return 0;
}

void kmem_blocks_stop(void)
{
	store_release(&owner_site, NULL);
}

uint64_t kmem_blocks_now(void)
{
	return (uint64_t)((unsigned __int128)(ring_clock() - start) * ns_per_unit >> 48);
}

static uint64_t home_of(uint64_t key)
{
	return (key / HOME_BYTES + (key >> 28) * 0x9e3779b1u) & (NR_BUCKETS - 1);
}

/*
 * The bucket for blocks that do not fit at home: not a neighbour, as the neighbour's own blocks
 * fill that.
 */
static uint64_t next_of(uint64_t home, uint32_t step)
{
	return (home + step * UINT64_C(0x1f35b)) & (NR_BUCKETS - 1);
}

int kmem_block_add(const void *p, const struct kmem_block *b)
{
	uint64_t key = (uint64_t)p, home = home_of(key), at = home;
	uint32_t step, way;

	for (step = 0; step < MAX_STEPS; at = next_of(home, ++step)) {
		struct bucket *k = &buckets[at];

		for (way = 0; way < WAYS; way++) {
			struct value *v = &values[at * WAYS + way];

			if (load_relaxed(&k->key[way]) || !compare_and_store(&k->key[way], 0, key))
				continue;
			v->size = b->bytes << 24 | (b->waste & 0xffffff);
			v->owner = b->moment << 24 | (b->owner & 0xffffff);
			if (!bitmap_has(touched, (uint32_t)(at / BUCKETS_A_PAGE)))
				__atomic_fetch_or(&touched[at / BUCKETS_A_PAGE / 64],
						  UINT64_C(1) << (at / BUCKETS_A_PAGE % 64),
						  __ATOMIC_RELAXED);
			return 1;
		}
		__atomic_fetch_add(&k->elsewhere, 1, __ATOMIC_ACQ_REL);
	}
	while (step--)
		__atomic_fetch_sub(&buckets[next_of(home, step)].elsewhere, 1, __ATOMIC_ACQ_REL);
	return 0;
}

static struct kmem_block block_of(const struct value *v)
{
	return (struct kmem_block){.bytes = v->size >> 24,
				   .waste = v->size & 0xffffff,
				   .owner = v->owner & 0xffffff,
				   .moment = v->owner >> 24};
}

int kmem_block_take(const void *p, struct kmem_block *b)
{
	uint64_t key = (uint64_t)p, home = home_of(key), at = home;
	uint32_t step, way;

	for (step = 0; step < MAX_STEPS; at = next_of(home, ++step)) {
		struct bucket *k = &buckets[at];

		for (way = 0; way < WAYS; way++) {
			if (load_relaxed(&k->key[way]) != key)
				continue;
			*b = block_of(&values[at * WAYS + way]);
			store_release(&k->key[way], 0);
			while (step--)
				__atomic_fetch_sub(&buckets[next_of(home, step)].elsewhere, 1,
						   __ATOMIC_ACQ_REL);
			return 1;
		}
		if (!load_acquire(&k->elsewhere))
			return 0;
	}
	return 0;
}

/*
 * Find the last block that begins in the home of @from, at @to or before. Return: 1; 0: there is
 * none.
 */
static int last_block(uint64_t from, uint64_t to, uint64_t *begin, struct kmem_block *b)
{
	uint64_t home = home_of(from), at = home, key;
	uint32_t step, way;

	*begin = 0;
	for (step = 0; step < MAX_STEPS; at = next_of(home, ++step)) {
		for (way = 0; way < WAYS; way++) {
			key = load_acquire(&buckets[at].key[way]);
			if (key / HOME_BYTES != from / HOME_BYTES || key > to || key < *begin)
				continue;
			*begin = key;
			*b = block_of(&values[at * WAYS + way]);
		}
		if (!load_acquire(&buckets[at].elsewhere))
			break;
	}
	return *begin != 0;
}

uint64_t kmem_block_site(const void *p)
{
	uint64_t (*site_of)(uint32_t owner) = load_acquire(&owner_site);
	uint64_t to = (uint64_t)p, from = to & ~(uint64_t)(HOME_BYTES - 1), begin;
	struct kmem_block b = {0};

	for (; site_of && to - from < KMEM_BLOCK_BACK && from; from -= HOME_BYTES)
		if (last_block(from, to, &begin, &b))
			return to - begin < b.bytes + b.waste ? site_of(b.owner) : 0;
	return 0;
}

void kmem_blocks_each(void (*each)(void *arg, const struct kmem_block *b), void *arg)
{
	uint64_t page, at;
	uint32_t way;

	for (page = 0; buckets && page < NR_BUCKETS / BUCKETS_A_PAGE; page++) {
		if (!bitmap_has(touched, (uint32_t)page))
			continue;
		for (at = page * BUCKETS_A_PAGE; at < (page + 1) * BUCKETS_A_PAGE; at++)
			for (way = 0; way < WAYS; way++)
				if (load_acquire(&buckets[at].key[way])) {
					struct kmem_block b = block_of(&values[at * WAYS + way]);

					each(arg, &b);
				}
	}
}
