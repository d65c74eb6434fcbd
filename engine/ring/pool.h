/* SPDX-License-Identifier: MIT */
/* Which page a writer gets: the pool behind the ring. Every function runs in any context. */
#ifndef VESTIGE_RING_POOL_H
#define VESTIGE_RING_POOL_H

#include "engine/ring/ring.h"

static inline struct page_head *pool_page(const struct ring *r, uint32_t index)
{
	return (struct page_head *)(r->pages + (uint64_t)index * PAGE_BYTES);
}

/*
 * pool_take() - take a page of one CPU's share: a free one, else a new one while the share has not
 * all its memory, else (when the buffer overwrites) the oldest published one, whose records are
 * counted as overrun. The page is zero but for its header's sums, in state TAKING.
 * Return: its index, or -ENOBUFS.
 */
int pool_take(struct ring *r, struct area_cpu *row);

/* The header is complete: let readers see it. TAKING -> OWNED. */
void pool_own(struct ring *r, uint32_t index);

/* No writer will touch it again. OWNED -> PUBLISHED, or FREE if it has no record. */
void pool_publish(struct ring *r, uint32_t index);

/* A CPU's second share, NULL: there is none. */
static inline struct area_snapshot *pool_snapshot(const struct ring *r, const struct area_cpu *row)
{
	return r->snaps && r->snaps[row - r->cpus].first_page ? &r->snaps[row - r->cpus] : NULL;
}

/* Whether the page was begun before the last snapshot, and a record of @stamp comes behind that. */
static inline int pool_is_before_snapshot(const struct ring *r, const struct page_head *head,
					  uint64_t stamp)
{
	uint64_t to;

	if (!r->snaps)
		return 0;
	to = load_relaxed(&r->snaps[head->cpu < r->nr_cpus ? head->cpu : r->nr_cpus - 1].to_stamp);
	return head->base_stamp < to && stamp >= to;
}

/* Pages of older records than the live ones that are in nobody's hands, and not the snapshot's, are free. */
void pool_clear(struct ring *r, struct area_cpu *row);

/* The share that writers leave may be used: from now on snapshots can be taken. Return: 0 or -ENOSPC. */
int pool_spare_alloc(struct ring *r, struct area_cpu *row);

/* Its memory goes; live records that are there move. There is no snapshot any more. */
void pool_spare_free(struct ring *r, struct area_cpu *row);

/* pool_resize() - ring_resize() of one CPU. */
int pool_resize(struct ring *r, struct area_cpu *row, uint32_t pages);

/*
 * pool_back() - give a CPU's share @pages more pages of memory, at most its quota.
 * Return: 0, or -errno: -EFAULT when the file system is full.
 */
int pool_back(struct ring *r, struct area_cpu *row, uint32_t pages);

#endif
