/* SPDX-License-Identifier: MIT */
/*
 * See builtin_event.h. The event's files, which are never freed, say which instances want a record;
 * event_act() applies their filters and triggers. fork: the child has the same events on. Tests:
 * tests/engine/events/sched.
 */
#include "engine/events/builtin_event.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/events/event_act.h"
#include "engine/process/area.h"

/* Whether another instance than @but's wants records. */
static int others_want(const struct event *e, const struct event_file *but)
{
	const struct event_file *f;

	for (f = e->files; f; f = f->next)
		if (f != but && f->flags & EVENT_FILE_REGISTERED && f->tr->ring)
			return 1;
	return 0;
}

static int enable(struct event *event, struct event_file *file, int on)
{
	struct builtin_event *e = event->data;
	int err = 0;

	if (!e || others_want(event, file))
		return 0;
	if (e->enable && on != builtin_event_is_on(e))
		err = e->enable(e, on);
	if (!err)
		store_release(&e->on, (uint32_t)on);
	return err;
}

static const struct event_class own_class = {.enable = enable, .is_tracepoint = 1};

void builtin_events_add(struct builtin_event *rows, uint32_t n)
{
	struct event *clash;

	for (; n; n--, rows++) {
		rows->event = event_add(rows->system, rows->name, rows->fields, rows->print_fmt,
					&own_class, rows, &clash);
		if (!rows->event) {
			area_status("there is no room for the built-in events", rows->system,
				    -ENOMEM);
			return;
		}
	}
}

int builtin_event_give_way(struct event *e)
{
	struct builtin_event *own = e->data;

	if (e->class != &own_class || !own)
		return 0;
	event_gone(e);
	own->event = NULL;
	own->on = 0;
	return 1;
}

/* Copy whole words, in line: the records of the hottest events are no longer than a cache line. */
static inline void copy_words(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	for (; bytes >= 8; bytes -= 8, to += 8, from += 8)
		*(uint64_t *)to = *(const uint64_t *)from;
	if (bytes)
		memcpy(to, from, bytes);
}

static void write_to(struct event_file *f, const void *record, uint32_t bytes)
{
	const struct vestige_event_ops *ops = load_acquire(&f->pub.ops);
	struct vestige_event_slot slot;
	struct srcu_thread *in;
	uint8_t *to;

	if (ops == &event_ops_none)
		return;
	if (ops == &event_ops_act || ops == &event_ops_filter) {
		in = ring_enter();
		if (!in)
			return;
		event_act(f, record, bytes);
		ring_leave(in);
		return;
	}
	to = ops->reserve(f, &slot, bytes);
	if (!to)
		return;
	copy_words(to + 8, (const uint8_t *)record + 8, bytes - 8);
	ops->commit(f, &slot);
}

void builtin_event_write(const struct builtin_event *e, const void *record, uint32_t bytes)
{
	const struct event *event = load_acquire(&e->event);

	if (event)
		event_write_each(event, record, bytes);
}

void event_write_each(const struct event *event, const void *record, uint32_t bytes)
{
	struct event_file *f;

	for (f = load_acquire(&event->files); f; f = load_acquire(&f->next))
		write_to(f, record, bytes);
}
