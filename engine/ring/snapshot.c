/* SPDX-License-Identifier: MIT */
/*
 * The snapshot of a ring. Nothing is copied and no writer is stopped. A point in time divides the
 * records by their stamps (abi/area.h, struct area_snapshot). Writers go on in the CPU's other
 * share of pages, so that they do not overwrite the snapshot. A record that is made during the swap
 * is on one side or the other, by its stamp. A page may have records of both; it is then kept as
 * long as the snapshot.
 *
 * A swap is one store for each count, a look at each page of the share that becomes the live one,
 * and one store for each thread, which takes a new page with its next record. A second swap
 * meanwhile, also in a signal handler, does nothing. fork: the child's area has no snapshot; a swap
 * that was running is its parent's. Tests: tests/unit/test_pool.c, tests/engine/fire/snapshot.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/seqcount.h"
#include "engine/ring/pool.h"
#include "engine/ring/ring.h"
#include "engine/ring/snapshot.h"

int snapshot_begin(struct ring *r)
{
	if (!compare_and_store(&r->swapping, 0, (uint32_t)ring_thread_id()))
		return -EBUSY;
	r->swapping_at = (uint64_t)__builtin_frame_address(0);
	return 0;
}

void snapshot_end(struct ring *r)
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

/* The records from the beginning of the live ones to @now become the snapshot. */
static void swap_cpu(struct ring *r, struct area_cpu *row, uint64_t now, uint64_t published)
{
	struct area_snapshot *snap = &r->snaps[row - r->cpus];

	write_seqcount_begin(&snap->gen);
	snap->from_overrun = row->cleared_overrun;
	snap->from_dropped = row->cleared_dropped;
	snap->from_commit = row->cleared_commit;
	store_relaxed(&snap->from_stamp, load_relaxed(&row->cleared_stamp));
	store_relaxed(&snap->from_publish, load_relaxed(&snap->to_publish));
	/* from here on no writer takes pages that were live */
	store_release(&snap->to_stamp, now);
	store_relaxed(&snap->to_publish, published);
	store_release(&snap->live, !snap->live);
	row->cleared_overrun = snap->to_overrun = load_relaxed(&row->overrun);
	row->cleared_dropped = snap->to_dropped = load_relaxed(&row->dropped_events);
	row->cleared_commit = snap->to_commit = load_relaxed(&row->commit_overrun);
	store_release(&row->cleared_stamp, now);
	pool_clear(r, row);
	write_seqcount_end(&snap->gen);
}

/* The time of the swap: later records and pages are not older, earlier ones are. */
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
	err = snapshot_begin(r);
	if (err)
		return err;
	/* in this order: pages that were published by then have only older records */
	published = load_acquire(&r->buffer->publish_seq);
	barrier();
	now = cut_off(r);
	for (i = 0; i < r->nr_cpus; i++)
		if (cpu == UINT32_MAX || cpu == i)
			swap_cpu(r, &r->cpus[i], now, published);
	ring_change_pages();
	/* a thread that found no free page may search again */
	fetch_add(&r->area->reader_gen, 1);
	snapshot_end(r);
	return 0;
}

static void clear_cpu(struct ring *r, struct area_cpu *row)
{
	struct area_snapshot *snap = &r->snaps[row - r->cpus];

	write_seqcount_begin(&snap->gen);
	store_relaxed(&snap->from_stamp, 0);
	store_release(&snap->to_stamp, 0);
	/* only pages that were published after the last swap may have live records */
	store_relaxed(&snap->from_publish, snap->to_publish);
	write_seqcount_end(&snap->gen);
}

int ring_snapshot_alloc(struct ring *r)
{
	uint32_t i;
	int err = 0;

	if (!has_spare(r))
		return -ENOMEM;
	/* the first CPU last: readers take it as the sign that all have memory */
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
	err = snapshot_begin(r);
	for (i = 0; i < r->nr_cpus && !err; i++)
		if (cpu == UINT32_MAX || cpu == i)
			clear_cpu(r, &r->cpus[i]);
	if (!err)
		snapshot_end(r);
	return err;
}

int ring_snapshot_free(struct ring *r)
{
	uint32_t i;
	int err;

	if (!has_spare(r))
		return 0;
	err = snapshot_begin(r);
	for (i = 0; i < r->nr_cpus && !err; i++) {
		clear_cpu(r, &r->cpus[i]);
		if (r->snaps[i].allocated)
			pool_spare_free(r, &r->cpus[i]);
	}
	if (!err)
		snapshot_end(r);
	return err;
}
