/* SPDX-License-Identifier: MIT */
/*
 * See graph_shadow.h. Owns the table of the blocks that are mapped. An entry is claimed with one
 * compare-and-swap and never goes again: stacks are, and their shadow with them, made in the same
 * places time and again.
 *
 * fork: the child has the parent's shadow and table, both private. Costs an mmap() for 64 KiB of a
 * stack, once. Tests: tests/engine/graph.
 */
#include "engine/hook/graph_shadow.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/hook/graph.h"
#include "engine/ring/ring.h"

#define NR_BLOCKS   65536u /* a power of two: 4 GiB of stacks */
#define BLOCK_SHIFT 18
#define PROBES	    64u

enum { MAPPED_PENDING = 1, MAPPED_YES = 2, MAPPED_REFUSED = 3 };

static uint64_t *blocks; /* block << 2 | enum */

int graph_shadow_start(void)
{
	long p;

	if (blocks)
		return 0;
	p = sys_mmap(NULL, NR_BLOCKS * sizeof(*blocks), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p))
		return -ENOMEM;
	store_release(&blocks, (uint64_t *)p);
	return 0;
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
 * Map it for the entry at @at, which is pending: another thread may be at it too, or was when it
 * forked. Whose mmap() succeeds has it, but only the first comer knows that somebody else's memory is
 * there. No handler comes between the two halves, it might not return. Return whether it is there.
 */
static int map_pending(uint64_t *at, uint64_t block, int first)
{
	int err = mmap_block(block);

	if (!err)
		store_release(at, block << 2 | MAPPED_YES);
	else if (first &&
		 !compare_and_store(at, block << 2 | MAPPED_PENDING, block << 2 | MAPPED_REFUSED))
		err = 0; /* another thread was faster */
	return !err;
}

/* 256 KiB of shadow. Return whether it is there. */
static int map_block(uint64_t block)
{
	uint32_t h = graph_hash(block), i;

	for (i = 0; i < PROBES; i++) {
		uint64_t *at = &blocks[(h + i) & (NR_BLOCKS - 1)];
		uint64_t entry = load_acquire(at), mask;
		int first, is_there;

		if (entry && entry >> 2 != block)
			continue;
		if (entry && (entry & 3) != MAPPED_PENDING)
			return (entry & 3) == MAPPED_YES;
		if (ring_growth_forbidden())
			return 0;
		mask = sys_set_signals(UINT64_MAX);
		first = compare_and_store(at, 0, block << 2 | MAPPED_PENDING);
		entry = load_acquire(at);
		is_there = (entry & 3) == MAPPED_YES;
		if (entry >> 2 == block && (entry & 3) == MAPPED_PENDING)
			is_there = map_pending(at, block, first);
		sys_set_signals(mask);
		if (entry >> 2 == block)
			return is_there;
	}
	return 0;
}

int graph_shadow_map(uint64_t lo, uint64_t hi)
{
	uint64_t block = (uint64_t)graph_shadow(lo) >> BLOCK_SHIFT;
	uint64_t last = (uint64_t)graph_shadow(hi) >> BLOCK_SHIFT;

	for (; block <= last; block++)
		if (!map_block(block))
			return 0;
	return 1;
}
