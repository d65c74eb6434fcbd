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

/* The header is complete: show it to readers. TAKING -> OWNED. */
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

/* Free the pages that hold only records older than the live ones, that no thread owns, and that are
 * not the snapshot's. */
void pool_clear(struct ring *r, struct area_cpu *row);

/* The share that writers leave may be used: from now on snapshots can be taken. Return: 0 or
 * -ENOSPC. */
int pool_spare_alloc(struct ring *r, struct area_cpu *row);

/* Its memory goes; live records that are there move. There is no snapshot any more. */
void pool_spare_free(struct ring *r, struct area_cpu *row);

/*
 * Pages for copies, of a CPU's share that writers do not use (ring/stretch.c); one caller at a
 * time. pool_take_kept() - one in state TAKING, whatever is in it. Return: its index; -ENOBUFS.
 * pool_keep() - the copy is complete: readers see it. pool_leave_kept() - it is none after all.
 * pool_drop_kept() - all of them are free.
 */
int pool_take_kept(struct ring *r, struct area_cpu *row);
void pool_keep(struct ring *r, uint32_t index);
void pool_leave_kept(struct ring *r, uint32_t index);
void pool_drop_kept(struct ring *r, struct area_cpu *row);

/* pool_resize() - ring_resize() of one CPU. */
int pool_resize(struct ring *r, struct area_cpu *row, uint32_t pages);

/*
 * pool_back_ahead() - give a CPU's share memory until it has it for @pages pages, at most for its
 * quota. A failure is counted when they are missed.
 */
void pool_back_ahead(struct ring *r, struct area_cpu *row, uint32_t pages);

#endif
