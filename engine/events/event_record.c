/* SPDX-License-Identifier: MIT */
/*
 * Called by probe functions: reserve room for an event's record, and commit it. The record is in
 * the ring as its format says, except for the eight bytes of the common fields: the ring's head
 * word is in their place (abi/record.h). Any context, signal handlers included: no lock, no libc,
 * no system calls except in ring_new_page(). Costs: bench "events". Tests: tests/engine/events/.
 */
#include "engine/events/event_act.h"
#include "engine/events/ftrace_event.h"

#include "arch_clock.h"
#include "engine/base/compiler.h"
#include "engine/process/area.h"
#include "engine/core/options.h"
#include "engine/core/stack.h"
#include "engine/ring/proxy.h"
#include "engine/ring/ring_write.h"

/* This file's use of a struct vestige_event_slot. */
struct event_slot {
	void *scratch;
	uint64_t *words; /* the record */
	uint64_t head;	 /* the head word that completes it */
	struct ring_ctl *ctl;
};
_Static_assert(sizeof(struct event_slot) <= sizeof(struct vestige_event_slot),
	       "programs have made room for vestige_event_slot");

static uint64_t head_word(const struct event_file *f, uint32_t bytes, uint64_t stamp)
{
	return f->head + ((uint64_t)bytes << (RECORD_ID_SHIFT + RECORD_EVENT_WORDS_SHIFT - 3)) +
	       stamp;
}

void *event_reserve(struct event_file *f, struct vestige_event_slot *slot, uint32_t bytes)
{
	struct event_slot *s = (struct event_slot *)slot;
	struct ring_slot at;

	if (unlikely(bytes > RING_MAX_RECORD)) {
		ring_count_dropped(f->tr->ring);
		return NULL;
	}
	bytes = (bytes + 7) & ~7u;
	if (unlikely(ring_as ? !ring_reserve_as_other(f->tr->ring, &at, bytes)
			     : !ring_reserve(f->tr->ring, &at, bytes)))
		return NULL;
	s->words = at.words;
	s->head = head_word(f, bytes, at.stamp);
	s->ctl = at.ctl;
	return at.words;
}

void event_commit(struct event_file *f, struct vestige_event_slot *slot)
{
	const struct event_slot *s = (const struct event_slot *)slot;

	(void)f;
	barrier();
	*(volatile uint64_t *)s->words = s->head;
	ring_end_writer(s->ctl);
}

static void *plain_reserve(void *file, struct vestige_event_slot *slot, uint32_t bytes)
{
	return event_reserve(file, slot, bytes);
}

static void plain_commit(void *file, struct vestige_event_slot *slot)
{
	event_commit(file, slot);
}

/*
 * As ring_reserve() in the top instance's ring, for the usual case: rseq gives the thread's CPU,
 * stamps are the CPU's counter, and the record is the calling thread's own. (A thread that has a
 * page writes the last proxy records at its exit.) All other cases call event_reserve().
 */
static void *quick_reserve(void *file, struct vestige_event_slot *slot, uint32_t bytes)
{
	struct event_slot *s = (struct event_slot *)slot;
	const struct event_file *f = file;
	struct ring_ctl *ctl = ring_ctl[0];
	uint32_t size = (bytes + 7) & ~7u;
	struct page_head *page;
	uint64_t at, stamp;

	if (likely(ctl->cpu_key == ((uint32_t)arch_rseq_cpu(ring_rseq_offset) ^ RING_CPU_KEY) &&
		   !ring_as)) {
		page = ring_begin_writer(ctl);
		at = likely(page) ? arch_local_fetch_add(&page->commit, size) : PAGE_BYTES;
		if (likely(at + size <= PAGE_BYTES)) {
			s->words = (uint64_t *)((uint8_t *)page + at);
			s->words[0] = (uint64_t)RECORD_UNCOMMITTED << RECORD_KIND_SHIFT |
				      (uint64_t)size << RECORD_ID_SHIFT;
			stamp = arch_clock_read() - page->base_stamp;
			s->head = head_word(f, size, stamp);
			s->ctl = ctl;
			if (likely(!(stamp >> 32)))
				return s->words;
		}
		ring_end_writer(ctl);
	}
	return event_reserve(file, slot, bytes);
}

static void *no_reserve(void *file, struct vestige_event_slot *slot, uint32_t bytes)
{
	(void)file;
	(void)slot;
	(void)bytes;
	return NULL;
}

static void no_commit(void *file, struct vestige_event_slot *slot)
{
	(void)file;
	(void)slot;
}

/* Operations that always make a record. */
static const struct vestige_event_ops event_ops_plain = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = plain_reserve,
	.commit = plain_commit,
};

static const struct vestige_event_ops event_ops_quick = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = quick_reserve,
	.commit = plain_commit,
};

const struct vestige_event_ops event_ops_none = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = no_reserve,
	.commit = no_commit,
};

void event_file_update(struct event_file *f)
{
	const struct vestige_event_ops *ops = &event_ops_plain;

	if (!f->event->class && !f->event->gone) {
		ftrace_event_update(f);
		return;
	}
	f->head = (uint64_t)RECORD_EVENT << RECORD_KIND_SHIFT | (uint64_t)f->event->id
									<< RECORD_ID_SHIFT;
	if (trace_array_is_top(f->tr) && ring_rseq_offset && area->clock == AREA_CLOCK_TSC)
		ops = &event_ops_quick;
	if (f->filter)
		ops = &event_ops_filter;
	if (!trace_array_is_top(f->tr) || f->flags & EVENT_FILE_SOFT_MODE ||
	    f->tr->event_pids_set || (f->tr->ring && stack_is_wanted(f->tr->ring)))
		ops = &event_ops_act;
	if (!(f->flags & (EVENT_FILE_ENABLED | EVENT_FILE_SOFT_MODE)) || f->event->gone)
		ops = &event_ops_none;
	__atomic_store_n(&f->pub.ops, ops, __ATOMIC_RELEASE);
}
