/* SPDX-License-Identifier: MIT */
/*
 * See stretch.h. The copies are whole pages of state PAGE_KEPT, in the share that writers do not
 * use; words that do not belong to the stretch are zero in them. A source page that is taken again
 * meanwhile is left out: it had the oldest records. The lock is the snapshot's. fork: the child's
 * area has no stretch. Costs: some 10 us for a ring of 700 pages, and 1 us for each copied page.
 * Tests: tests/engine/events/preemptoff.
 */
#include "engine/ring/stretch.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seqcount.h"
#include "engine/ring/pool.h"
#include "engine/ring/snapshot.h"

#define TRIES 10000u

/* Readers of the snapshot check the count of each row. */
static void change(struct ring *r, int begins)
{
	uint32_t i;

	for (i = 0; i < r->nr_cpus; i++)
		if (begins)
			write_seqcount_begin(&r->snaps[i].gen);
		else
			write_seqcount_end(&r->snaps[i].gen);
}

int stretch_begin(struct ring *r)
{
	uint32_t tries;
	int err;

	if (!ring_snapshot_allocated(r))
		return -ENODEV;
	for (tries = 0; tries < TRIES; tries++) {
		err = snapshot_begin(r);
		if (err != -EBUSY || load_relaxed(&r->swapping) == (uint32_t)ring_thread_id() ||
		    sys_is_forbidden())
			break;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return err;
}

void stretch_empty(struct ring *r)
{
	uint32_t i;

	change(r, 1);
	for (i = 0; i < r->nr_cpus; i++)
		pool_drop_kept(r, &r->cpus[i]);
}

void stretch_end(struct ring *r)
{
	change(r, 0);
	snapshot_end(r);
}

int stretch_drop(struct ring *r)
{
	int err = stretch_begin(r);

	if (!err) {
		stretch_empty(r);
		stretch_end(r);
	}
	return err;
}

static int is_state(uint64_t word)
{
	return record_word_kind(word) == RECORD_STACK || record_word_kind(word) == RECORD_CONTEXT;
}

/*
 * Zero all words of a page that do not belong to the stretch. The last state records before it
 * apply to later records, and get the stretch's begin as their stamp. Return: the number of records
 * of the stretch.
 */
static uint32_t cut_out(uint64_t *page, uint64_t from, uint64_t to)
{
	const struct page_head *head = (const struct page_head *)page;
	uint64_t end = head->commit < PAGE_BYTES ? head->commit : PAGE_BYTES, at;
	uint64_t *state[RECORD_CONTEXT + 1] = {NULL};
	uint32_t n = 0;

	for (at = PAGE_HEAD_BYTES; at + 8 <= end;) {
		uint64_t word = page[at / 8], stamp = head->base_stamp + record_word_stamp(word);
		uint32_t bytes = record_word_bytes(word);

		if (!bytes || bytes > end - at)
			break;
		if (word && stamp < from && is_state(word)) {
			uint64_t **last = &state[record_word_kind(word)];

			if (*last)
				**last = 0;
			*last = &page[at / 8];
			**last += from - stamp;
		} else if (word && (stamp < from || stamp > to)) {
			memset(&page[at / 8], 0, bytes);
		} else {
			n += word != 0;
		}
		at += bytes;
	}
	memset(page + at / 8, 0, PAGE_BYTES - at);
	return n;
}

/* Whether the page may have records of the stretch; *@seq: its order of taking. */
static int is_of_stretch(const struct ring *r, uint32_t index, int tid, uint64_t from, uint64_t to,
			 uint64_t *seq)
{
	const volatile struct page_head *head = pool_page(r, index);
	uint32_t state = load_acquire(&r->descs[index].state);
	uint64_t base = head->base_stamp;

	*seq = head->seq;
	return (state == PAGE_OWNED || state == PAGE_PUBLISHED) && (!tid || head->tid == tid) &&
	       base <= to && (base >= from || from - base <= UINT32_MAX);
}

/* Copy one page. Return: the number of its records in the stretch. */
static uint32_t copy_page(struct ring *r, uint32_t index, int tid, uint64_t from, uint64_t to)
{
	const volatile uint64_t *old = (const volatile uint64_t *)pool_page(r, index);
	const volatile struct page_head *was = pool_page(r, index);
	struct page_head *head;
	uint64_t seq, *new;
	uint32_t i, state;
	int at;

	if (!is_of_stretch(r, index, tid, from, to, &seq))
		return 0;
	at = pool_take_kept(r, &r->cpus[was->cpu < r->nr_cpus ? was->cpu : 0]);
	if (at < 0)
		return 0;
	head = pool_page(r, (uint32_t)at);
	new = (uint64_t *)head;
	for (i = 0; i < PAGE_BYTES / 8; i++)
		new[i] = old[i];
	barrier();
	state = load_acquire(&r->descs[index].state);
	if ((state != PAGE_OWNED && state != PAGE_PUBLISHED) || was->seq != seq ||
	    head->seq != seq || !cut_out(new, from, to)) {
		pool_leave_kept(r, (uint32_t)at);
		return 0;
	}
	pool_keep(r, (uint32_t)at);
	return 1;
}

uint32_t stretch_copy(struct ring *r, int tid, uint64_t from, uint64_t to)
{
	uint32_t cpu, n = 0, i;

	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		const struct area_cpu *row = &r->cpus[cpu];
		const struct area_snapshot *snap = pool_snapshot(r, row);
		uint32_t backed = load_acquire(&row->nr_backed);

		for (i = 0; i < backed; i++)
			n += copy_page(r, row->first_page + i, tid, from, to);
		backed = snap ? load_acquire(&snap->nr_backed) : 0;
		for (i = 0; i < backed; i++)
			n += copy_page(r, snap->first_page + i, tid, from, to);
	}
	return n;
}

void stretch_call(struct ring *r, uint64_t stamp, uint32_t cpu, uint32_t context, uint64_t ip,
		  uint64_t parent_ip)
{
	int at = pool_take_kept(r, &r->cpus[cpu < r->nr_cpus ? cpu : r->nr_cpus - 1]);
	const struct ring_ctl *ctl = ring_outermost(ring_ctl[r->index]);
	struct page_head *head;
	uint64_t *words;

	if (at < 0)
		return;
	head = pool_page(r, (uint32_t)at);
	memset(head, 0, PAGE_BYTES);
	head->commit = PAGE_HEAD_BYTES + RECORD_GRAPH_BYTES + RECORD_CALL_BYTES;
	head->base_stamp = stamp;
	head->tid = ring_thread_id();
	head->cpu = cpu;
	head->task = ctl->tid > 0 ? ctl->task : UINT32_MAX;
	head->buffer = r->buffer_index;
	words = (uint64_t *)(head + 1);
	words[0] = (uint64_t)RECORD_CONTEXT << RECORD_KIND_SHIFT | (uint64_t)context
									   << RECORD_ID_SHIFT;
	words[1] = (uint64_t)RECORD_CALL << RECORD_KIND_SHIFT;
	words[2] = ip;
	words[3] = parent_ip;
	pool_keep(r, (uint32_t)at);
}
