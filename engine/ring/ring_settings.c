/* SPDX-License-Identifier: MIT */
/*
 * The settings of a ring: tracing_on and pauses, tracing_cpumask, the clock, clearing and resizing.
 * A change that writers must see sends all threads to the slow path (ring.c), which reads the
 * settings again. ring.h has the contexts. fork: the child has its parent's settings. Tests:
 * tests/unit/test_ring.c, tests/engine/fire/{switches,resize}.
 */
#include <linux/membarrier.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/ring/pool.h"
#include "engine/ring/ring.h"

/*
 * Off takes effect at once: each thread is sent to the slow path. A thread that is in it now either
 * sees that recording is off, or has stored its cpu_key before the barrier, and the key is cleared
 * after that.
 */
void ring_invalidate(void)
{
	if (sys_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) < 0)
		sys_membarrier(MEMBARRIER_CMD_GLOBAL);
	ring_change_pages();
}

static void run_or_not(struct ring *r)
{
	uint32_t running = load_relaxed(&r->on) && !load_relaxed(&r->paused);

	store_relaxed(&r->running, running);
	if (!running)
		ring_invalidate();
}

void ring_set_on(struct ring *r, int on)
{
	store_relaxed(&r->on, (uint32_t)on);
	store_relaxed(&r->area->tracing_on, (uint32_t)on);
	run_or_not(r);
}

void ring_pause(struct ring *r, int more)
{
	uint32_t paused = load_relaxed(&r->paused);

	if (!more && !paused)
		return;
	store_relaxed(&r->paused, more ? paused + 1 : paused - 1);
	run_or_not(r);
}

void ring_set_cpumask(struct ring *r, const uint64_t *off)
{
	uint32_t i, any = 0;

	for (i = 0; i < RING_MAX_CPUS / 64; i++) {
		store_relaxed(&r->cpus_off[i], off[i]);
		any |= off[i] != 0;
	}
	store_relaxed(&r->some_cpus_off, any);
	ring_invalidate();
}

/*
 * Pages that no thread owns are freed at once. A page that a thread owns stays with it: readers
 * ignore records that are older than cleared_stamp.
 */
static void clear_cpu(struct ring *r, struct area_cpu *row)
{
	row->cleared_overrun = load_relaxed(&row->overrun);
	row->cleared_dropped = load_relaxed(&row->dropped_events);
	row->cleared_commit = load_relaxed(&row->commit_overrun);
	/* the next number: the last one is of a record that is dropped */
	store_release(&row->cleared_stamp, ring_now(r) + (r->stamps == RING_STAMPS_COUNTER));
	pool_clear(r, row);
}

void ring_clear(struct ring *r, uint32_t cpu)
{
	uint32_t i;

	for (i = 0; i < r->nr_cpus; i++)
		if (cpu == UINT32_MAX || cpu == i)
			clear_cpu(r, &r->cpus[i]);
	/* a thread that found no free page may search again */
	fetch_add(&r->area->reader_gen, 1);
}

int ring_resize(struct ring *r, uint32_t cpu, uint32_t pages)
{
	int err = pool_resize(r, &r->cpus[cpu], pages);

	fetch_add(&r->area->reader_gen, 1);
	return err;
}

/*
 * Times are greater than numbers, so pages that threads own now would survive ring_clear(): mark
 * them as read.
 */
static void forget_owned(struct ring *r)
{
	uint32_t cpu, i;

	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct area_cpu *row = &r->cpus[cpu];

		for (i = row->first_page; i < row->first_page + load_acquire(&row->nr_backed); i++)
			if (load_acquire(&r->descs[i].state) == PAGE_OWNED)
				store_relaxed(&r->descs[i].read,
					      page_read_mark(pool_page(r, i)->seq, PAGE_BYTES));
	}
}

void ring_use_stamps(struct ring *r, enum ring_stamps stamps)
{
	int was_on = ring_is_on(r);

	ring_set_on(r, 0);
	if (stamps == RING_STAMPS_COUNTER && r->stamps != RING_STAMPS_COUNTER)
		forget_owned(r);
	r->counter = 0;
	store_relaxed(&r->stamps, (uint32_t)stamps);
	ring_clear(r, UINT32_MAX);
	ring_set_on(r, was_on);
}
