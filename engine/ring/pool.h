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
 * pool_take() - take a page of a CPU's share: a free one; else a new one, if the share does not
 * have all its memory yet; else, if the buffer overwrites, the oldest published one, whose records
 * are counted as overrun. The page is in state TAKING and zero, except for the losses in its
 * header.
 * @row: the CPU's row of AREA_CPUS.
 * Return: its index, or -ENOBUFS.
 */
int pool_take(struct ring *r, struct area_cpu *row);

/* The header is complete: let readers see the page. TAKING -> OWNED. */
void pool_own(struct ring *r, uint32_t index);

/* No writer will write to it again. OWNED -> PUBLISHED, or FREE if it has no record. */
void pool_publish(struct ring *r, uint32_t index);

/* The snapshot of a CPU; NULL: the ring has no room for snapshots. */
static inline struct area_snapshot *pool_snapshot(const struct ring *r, const struct area_cpu *row)
{
	return r->snaps && r->snaps[row - r->cpus].first_page ? &r->snaps[row - r->cpus] : NULL;
}

/* Whether the page was begun before the last snapshot, and a record of @stamp is after it. */
static inline int pool_is_before_snapshot(const struct ring *r, const struct page_head *head,
					  uint64_t stamp)
{
	uint64_t to;

	if (!r->snaps)
		return 0;
	to = load_relaxed(&r->snaps[head->cpu < r->nr_cpus ? head->cpu : r->nr_cpus - 1].to_stamp);
	return head->base_stamp < to && stamp >= to;
}

/* Free the pages whose records are all older than the live ones. Pages that a thread owns, or that
 * belong to the snapshot, stay. */
void pool_clear(struct ring *r, struct area_cpu *row);

/* Give memory to the share that writers do not use, so that snapshots can be taken. Return: 0 or
 * -ENOSPC. */
int pool_spare_alloc(struct ring *r, struct area_cpu *row);

/* Drop the snapshot and free that memory. Live records in that share are moved. */
void pool_spare_free(struct ring *r, struct area_cpu *row);

/*
 * Pages for copies, from the share that writers do not use (ring/stretch.c). One caller at a time.
 * pool_take_kept() - take one, not zeroed, in state TAKING. Return: its index; -ENOBUFS.
 * pool_keep() - the copy is complete: let readers see it. pool_leave_kept() - there is no copy:
 * free it. pool_drop_kept() - free all of them.
 */
int pool_take_kept(struct ring *r, struct area_cpu *row);
void pool_keep(struct ring *r, uint32_t index);
void pool_leave_kept(struct ring *r, uint32_t index);
void pool_drop_kept(struct ring *r, struct area_cpu *row);

/* pool_resize() - ring_resize() for one CPU. @pages: the new quota. */
int pool_resize(struct ring *r, struct area_cpu *row, uint32_t pages);

/*
 * pool_back_ahead() - give memory to the first @pages pages of a CPU's share, at most to its quota.
 * A failure is not reported here; it is counted when such a page is needed.
 */
void pool_back_ahead(struct ring *r, struct area_cpu *row, uint32_t pages);

#endif
