/* SPDX-License-Identifier: MIT */
/*
 * Built-in events, which every process has without a line in its source. Each is a row of a table.
 * The code that sees the event builds the records in C. An event that is off costs that code one
 * call of builtin_event_is_on(). If its source can be switched, the row's enable() does it. If a
 * program defines an event of the same name by TRACE_EVENT(), the program's event replaces it.
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
	const struct vestige_event_field *fields; /* ended by a field without a type */
	const char *print_fmt;
	/*
	 * Called when the first instance wants records, and when the last one stops wanting them;
	 * NULL: nothing to do. Under the tree lock. Return: 0; -errno: it was not switched.
	 */
	int (*enable)(struct builtin_event *e, int on);
	void *data; /* for enable() */
	/* set by builtin_event.c */
	struct event *event; /* NULL: it is not registered, or the program's event replaces it */
	uint32_t on;	     /* an instance wants records */
};

/*
 * builtin_events_add() - register @n events. The rows must stay for ever. If there is no room for
 * them, vestige_status reports it. At LIFECYCLE_SYSTEM, before the program's events are read.
 */
void builtin_events_add(struct builtin_event *rows, uint32_t n);

static inline int builtin_event_is_on(const struct builtin_event *e)
{
	return (int)load_relaxed(&e->on);
}

/*
 * builtin_event_write() - make a record in each instance that wants it. @record: @bytes, beginning
 * with its struct builtin_record; copied. Bytes between fields must be 0. Any context.
 */
void builtin_event_write(const struct builtin_event *e, const void *record, uint32_t bytes);

/* As builtin_event_write(), for any event whose records are made in C. */
void event_write_each(const struct event *event, const void *record, uint32_t bytes);

/* A program defines an event of this name: if @e is built-in, remove it. Return: whether it was. */
int builtin_event_give_way(struct event *e);

#endif
