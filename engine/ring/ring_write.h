/* SPDX-License-Identifier: MIT */
/*
 * Writes a record of any size from C: reserve, fill in, commit. The pages and rules are the same as
 * in the hooks (ring.h). It always uses xadd, so it may nest with hooks and with itself in signal
 * handlers. Between reserve and commit the thread must not leave by longjmp().
 */
#ifndef VESTIGE_RING_WRITE_H
#define VESTIGE_RING_WRITE_H

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/ring/ring.h"

#define RING_MAX_RECORD (PAGE_BYTES - PAGE_HEAD_BYTES)

struct ring_slot {
	uint64_t *words; /* the record; words[0] is its head word */
	uint64_t stamp;	 /* stamp for the head word */
	struct ring_ctl *ctl;
};

/*
 * The thread's block in a ring. An instance's index may have been another instance's before, so an
 * old block may be left, which must not be used.
 */
static inline struct ring_ctl *ring_block(const struct ring *r)
{
	if (r->index && ring_gen[r->index] != load_relaxed(&r->gen))
		ring_renew(r);
	return ring_ctl[r->index];
}

/* As arch_cpu(), which is slow where it needs lsl. */
static inline uint32_t ring_cpu(void)
{
	int32_t cpu = ring_rseq_offset ? arch_rseq_cpu(ring_rseq_offset) : -1;

	return cpu >= 0 ? (uint32_t)cpu : arch_cpu();
}

/*
 * A writer begins. Return: the page to which it may write; NULL in a fork's child. See XADD_RECORD.
 */
static inline struct page_head *ring_begin_writer(struct ring_ctl *ctl)
{
	uint32_t nest = ++ctl->nest;
	struct page_head *head;

	barrier();
	for (;;) {
		head = ctl->page;
		barrier();
		if (!head || ctl->page_nest < nest)
			return head;
		ctl->page_nest = nest - 1;
		barrier();
	}
}

/* A writer ends, see entry.S's END_WRITER. */
static inline void ring_end_writer(struct ring_ctl *ctl)
{
	barrier();
	if (ctl->nest)
		ctl->nest--;
}

/*
 * ring_ready() - get a page with room for @bytes, if possible, so that the following reservation is
 * fast. Any context.
 */
static inline void ring_ready(struct ring *r, uint32_t bytes)
{
	const struct ring_ctl *ctl = ring_block(r);
	const struct page_head *head = ctl->page; /* NULL in a fork's child that continues here */

	if (ctl->cpu_key != (ring_cpu() ^ RING_CPU_KEY) || !head ||
	    head->commit + bytes > PAGE_BYTES)
		ring_new_page_in(r, bytes);
}

/* @now: the stamp; 0: read the clock. */
static inline int ring_reserve_as(struct ring *r, struct ring_slot *slot, uint32_t bytes, int event,
				  uint64_t now)
{
	/*
	 * A vfork's child, and one of raw clone() with shared memory, have no rseq: the rseq area
	 * has the CPU of the thread that made them. So it is read only once.
	 */
	for (uint32_t cpu = ring_cpu();; cpu = arch_cpu()) {
		struct ring_ctl *ctl = ring_block(r);
		struct page_head *head;
		uint64_t at, stamp;

		if ((event ? ctl->event_key : ctl->cpu_key) == (cpu ^ RING_CPU_KEY)) {
			head = ring_begin_writer(ctl);
			at = head ? arch_local_fetch_add(&head->commit, bytes) : PAGE_BYTES;
			if (at + bytes <= PAGE_BYTES) {
				slot->words = (uint64_t *)((uint8_t *)head + at);
				slot->words[0] = (uint64_t)RECORD_UNCOMMITTED << RECORD_KIND_SHIFT |
						 (uint64_t)bytes << RECORD_ID_SHIFT;
				/* @now was read for another page: read the clock again */
				if (now < head->base_stamp || r->stamps == RING_STAMPS_COUNTER)
					now = ring_stamp(r);
				stamp = now - head->base_stamp;
				slot->stamp = r->stamps == RING_STAMPS_NONE ? 0 : stamp;
				slot->ctl = ctl;
				if (!(stamp >> 32))
					return 1;
			}
			ring_end_writer(ctl);
		}
		if ((event ? ring_new_event_page(r, bytes) : ring_new_page_in(r, bytes)) ==
		    RING_SKIP)
			return 0;
	}
}

/*
 * ring_reserve() - reserve a record in a ring, for any thread: an event. @bytes: its size, head
 * word included; a multiple of 8, at most RING_MAX_RECORD. Return: 1 and *@slot, to be ended by
 * ring_commit(); 0: recording is off or the record is lost, which is counted. Any context.
 */
static inline int ring_reserve(struct ring *r, struct ring_slot *slot, uint32_t bytes)
{
	return ring_reserve_as(r, slot, bytes, 1, 0);
}

/* As ring_reserve(), for a call: threads that set_ftrace_pid excludes make none. */
static inline int ring_reserve_call(struct ring *r, struct ring_slot *slot, uint32_t bytes)
{
	return ring_reserve_as(r, slot, bytes, 0, 0);
}

/* Commit a record that is complete. @kind, @id: for its head word. */
static inline void ring_commit(const struct ring_slot *slot, enum record_kind kind, uint32_t id)
{
	barrier();
	*(volatile uint64_t *)slot->words =
		(uint64_t)kind << RECORD_KIND_SHIFT | (uint64_t)id << RECORD_ID_SHIFT | slot->stamp;
	ring_end_writer(slot->ctl);
}

#endif
