/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of a ring. It is not copied and no writer is stopped: a moment parts the records by
 * their stamps (abi/area.h, struct area_snapshot), and writers go on in the CPU's other share of pages,
 * so that they do not overwrite it. What is being recorded meanwhile is on the one side or the other, by
 * its stamp, and a page may hold records of both: then it is kept as the snapshot's as long as that is.
 *
 * Swapping is one store for each count, a look at each page of the share that writers go to, and one store
 * for each thread, which takes a new page with its next record. Whoever comes to swap meanwhile, a signal
 * handler on top included, does not. fork: the child's area has no snapshot; one that was being taken is
 * its parent's. Tests: tests/unit/test_pool.c, tests/engine/fire/snapshot.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/ring/pool.h"
#include "engine/ring/ring.h"

static int begin(struct ring *r)
{
	if (!compare_and_store(&r->swapping, 0, (uint32_t)ring_thread_id()))
		return -EBUSY;
	r->swapping_at = (uint64_t)__builtin_frame_address(0);
	return 0;
}

static void end(struct ring *r)
{
	store_release(&r->swapping, 0);
}

static int has_spare(const struct ring *r)
{
	return r->snaps && r->snaps[0].first_page;
}

int ring_snapshot_allocated(const struct ring *r)
{
	return has_spare(r) && load_acquire(&r->snaps[0].allocated);
}

/* From the live ones' beginning to @now. */
static void swap_cpu(struct ring *r, struct area_cpu *row, uint64_t now, uint64_t published)
{
	struct area_snapshot *snap = &r->snaps[row - r->cpus];

	fetch_add(&snap->gen, 1);
	snap->from_overrun = row->cleared_overrun;
	snap->from_dropped = row->cleared_dropped;
	snap->from_commit = row->cleared_commit;
	store_relaxed(&snap->from_stamp, load_relaxed(&row->cleared_stamp));
	store_relaxed(&snap->from_publish, load_relaxed(&snap->to_publish));
	/* from here on takers leave the pages alone that were live */
	store_release(&snap->to_stamp, now);
	store_relaxed(&snap->to_publish, published);
	store_release(&snap->live, !snap->live);
	row->cleared_overrun = snap->to_overrun = load_relaxed(&row->overrun);
	row->cleared_dropped = snap->to_dropped = load_relaxed(&row->dropped_events);
	row->cleared_commit = snap->to_commit = load_relaxed(&row->commit_overrun);
	store_release(&row->cleared_stamp, now);
	pool_clear(r, row);
	fetch_add(&snap->gen, 1);
}

/* The moment: records and pages from now on are not older, those before are. */
static uint64_t cut_off(struct ring *r)
{
	return r->stamps == RING_STAMPS_COUNTER ? fetch_add(&r->counter, 1) + 1 : ring_now(r);
}

int ring_snapshot(struct ring *r, uint32_t cpu)
{
	uint64_t now, published;
	uint32_t i;
	int err;

	if (!ring_snapshot_allocated(r))
		return -ENODEV;
	err = begin(r);
	if (err)
		return err;
	/* in this order: what was published by then has only records from before */
	published = load_acquire(&r->buffer->publish_seq);
	barrier();
	now = cut_off(r);
	for (i = 0; i < r->nr_cpus; i++)
		if (cpu == UINT32_MAX || cpu == i)
			swap_cpu(r, &r->cpus[i], now, published);
	ring_change_pages();
	/* a thread that found no free page may look again */
	fetch_add(&r->area->reader_gen, 1);
	end(r);
	return 0;
}

static void clear_cpu(struct ring *r, struct area_cpu *row)
{
	struct area_snapshot *snap = &r->snaps[row - r->cpus];

	fetch_add(&snap->gen, 1);
	store_relaxed(&snap->from_stamp, 0);
	store_release(&snap->to_stamp, 0);
	/* only what was published after the last swap may have live records */
	store_relaxed(&snap->from_publish, snap->to_publish);
	fetch_add(&snap->gen, 1);
}

int ring_snapshot_alloc(struct ring *r)
{
	uint32_t i;
	int err = 0;

	if (!has_spare(r))
		return -ENOMEM;
	/* the first one last: it says that all are */
	for (i = r->nr_cpus; i-- > 0 && !err;)
		if (!r->snaps[i].allocated)
			err = pool_spare_alloc(r, &r->cpus[i]);
	if (err)
		ring_snapshot_free(r);
	return err ? -ENOMEM : 0;
}

int ring_snapshot_clear(struct ring *r, uint32_t cpu)
{
	uint32_t i;
	int err;

	if (!has_spare(r))
		return 0;
	err = begin(r);
	for (i = 0; i < r->nr_cpus && !err; i++)
		if (cpu == UINT32_MAX || cpu == i)
			clear_cpu(r, &r->cpus[i]);
	if (!err)
		end(r);
	return err;
}

int ring_snapshot_free(struct ring *r)
{
	uint32_t i;
	int err;

	if (!has_spare(r))
		return 0;
	err = begin(r);
	for (i = 0; i < r->nr_cpus && !err; i++) {
		clear_cpu(r, &r->cpus[i]);
		if (r->snaps[i].allocated)
			pool_spare_free(r, &r->cpus[i]);
	}
	if (!err)
		end(r);
	return err;
}
