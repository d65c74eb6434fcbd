/* SPDX-License-Identifier: MIT */
/*
 * Events of the engine's own, which every process has without a line in it: a table row each, whose
 * records are put together in C by whoever sees what they tell. Off, an event costs what its source
 * costs to be asked own_event_is_on(); a source that can be switched is switched by the row.
 * A program that defines an event of the same name by TRACE_EVENT() has its own instead.
 */
#ifndef VESTIGE_EVENTS_OWN_EVENT_H
#define VESTIGE_EVENTS_OWN_EVENT_H

#include <stddef.h>
#include <stdint.h>

#include "arch_barrier.h"
#include "engine/events/event.h"

struct own_event {
	const char *system;
	const char *name;
	const struct vestige_event_field *fields; /* one without a type ends them */
	const char *print_fmt;
	/*
	 * The first instance wants records, or the last one no more; NULL: nothing is to be done.
	 * Under the tree's lock. Return: 0 or -errno: it is not switched then.
	 */
	int (*enable)(struct own_event *e, int on);
	void *data; /* enable()'s own */
	/* what follows is own_event.c's */
	struct event *event; /* NULL: it is not registered, or the program has one of its name */
	uint32_t on;	     /* an instance wants records */
};

/* Where the common fields are; a record's struct begins with it. */
struct own_record {
	uint64_t common;
};

/* A field: member of a record's struct, its type's text, is it signed. OWN_FIELD_AS: named otherwise. */
#define OWN_FIELD(record, member, type, is_signed)                                                 \
	OWN_FIELD_AS(record, member, #member, type, is_signed)
#define OWN_FIELD_AS(record, member, text, type, is_signed)                                        \
	{                                                                                          \
		(type), (text), sizeof(((record *)0)->member), offsetof(record, member),           \
			(is_signed), FILTER_OTHER, 0                                               \
	}
#define OWN_FIELDS_END                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

/* A string's `__data_loc char[]`: @offset from the record's beginning, @bytes with its NUL. */
#define OWN_DATA_LOC(offset, bytes) ((uint32_t)(offset) | (uint32_t)(bytes) << 16)

/*
 * own_events_add() - register @n events. They stay where they are for ever.
 * Constructor context, before the program's events are taken. Return: 0 or -ENOMEM.
 */
int own_events_add(struct own_event *rows, uint32_t n);

static inline int own_event_is_on(const struct own_event *e)
{
	return (int)load_relaxed(&e->on);
}

/*
 * own_event_write() - a record for each instance that wants it.
 * @record: of @bytes, from its struct own_record on; copied. What has no field in it is 0.
 * Any context.
 */
void own_event_write(const struct own_event *e, const void *record, uint32_t bytes);

/* The same of any event whose records are made in C. */
void event_write_each(const struct event *event, const void *record, uint32_t bytes);

/* A program defines an event of this name: if it is one of ours it goes. Return: whether it was. */
int own_event_give_way(struct event *e);

#endif
