/* SPDX-License-Identifier: MIT */
/*
 * Built-in events, which every process has without a line in its source: a table row each. The
 * source of an event builds the records in C. An event that is off costs its source a call of
 * builtin_event_is_on(); the row switches a source that can be switched. A program that defines an
 * event of the same name by TRACE_EVENT() has its own instead.
 */
#ifndef VESTIGE_EVENTS_BUILTIN_EVENT_H
#define VESTIGE_EVENTS_BUILTIN_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "arch_barrier.h"
#include "engine/core/builtin_record.h"
#include "engine/events/event.h"

struct builtin_event {
	const char *system;
	const char *name;
	const struct vestige_event_field *fields; /* one without a type ends them */
	const char *print_fmt;
	/*
	 * Called when the first instance wants records, and when the last one no longer does; NULL:
	 * nothing to do. Under the tree's lock. Return: 0 or -errno: it is not switched then.
	 */
	int (*enable)(struct builtin_event *e, int on);
	void *data; /* enable()'s own */
	/* the rest is builtin_event.c's */
	struct event *event; /* NULL: it is not registered, or the program has one of its name */
	uint32_t on;	     /* an instance wants records */
};

/*
 * builtin_events_add() - register @n events. They stay where they are for ever. Where there is no
 * room for them vestige_status says so. At LIFECYCLE_SYSTEM, before the program's events are taken.
 */
void builtin_events_add(struct builtin_event *rows, uint32_t n);

static inline int builtin_event_is_on(const struct builtin_event *e)
{
	return (int)load_relaxed(&e->on);
}

/*
 * builtin_event_write() - a record for each instance that wants it.
 * @record: of @bytes, from its struct builtin_record on; copied. Bytes between fields are 0. Any
 * context.
 */
void builtin_event_write(const struct builtin_event *e, const void *record, uint32_t bytes);

/* The same of any event whose records are made in C. */
void event_write_each(const struct event *event, const void *record, uint32_t bytes);

/* A program defines an event of this name: if it is one of ours it goes. Return: whether it was. */
int builtin_event_give_way(struct event *e);

#endif
