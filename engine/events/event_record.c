/* SPDX-License-Identifier: MIT */
/*
 * What a probe calls: room for an event's record, and that it is complete. The record lies in the ring
 * as its format says, but for the eight bytes of the common fields, where the ring's head word is
 * (abi/record.h). Any context, signal handlers included: no lock, no libc, no system call but those of
 * ring_new_page(). Costs: bench "events". Tests: tests/engine/events/.
 */
#include "engine/events/event.h"

#include "engine/base/compiler.h"
#include "engine/ring/ring_write.h"

/* What a struct vestige_event_slot holds for us. */
struct event_slot {
	void *scratch;
	struct ring_slot ring;
	uint64_t bytes;
};
_Static_assert(sizeof(struct event_slot) <= sizeof(struct vestige_event_slot),
	       "programs have made room for vestige_event_slot");

void *event_reserve(struct event_file *f, struct vestige_event_slot *slot, uint32_t bytes)
{
	struct event_slot *s = (struct event_slot *)slot;

	if (unlikely(bytes > RING_MAX_RECORD)) {
		ring_count_dropped(f->tr->ring);
		return NULL;
	}
	bytes = (bytes + 7) & ~7u;
	if (unlikely(!ring_reserve(f->tr->ring, &s->ring, bytes)))
		return NULL;
	s->bytes = bytes;
	return s->ring.words;
}

void event_commit(struct event_file *f, struct vestige_event_slot *slot)
{
	struct event_slot *s = (struct event_slot *)slot;

	ring_commit(&s->ring, RECORD_EVENT, RECORD_EVENT_ID(f->event->id, s->bytes));
}

static void *plain_reserve(void *file, struct vestige_event_slot *slot, uint32_t bytes)
{
	return event_reserve(file, slot, bytes);
}

static void plain_commit(void *file, struct vestige_event_slot *slot)
{
	event_commit(file, slot);
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

const struct vestige_event_ops event_ops_plain = {
	.bytes = sizeof(struct vestige_event_ops),
	.reserve = plain_reserve,
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

	if (!(f->flags & EVENT_FILE_ENABLED) || f->event->gone)
		ops = &event_ops_none;
	__atomic_store_n(&f->pub.ops, ops, __ATOMIC_RELEASE);
}
