/* SPDX-License-Identifier: MIT */
/*
 * Events that are known by name and made at their first use: the hundreds of system calls cost
 * nothing before that. A list of events shows them all; opening a file of an event, enabling or
 * naming it makes it. Under the tree's lock.
 */
#ifndef VESTIGE_EVENTS_EVENT_SOURCE_H
#define VESTIGE_EVENTS_EVENT_SOURCE_H

#include "engine/events/event.h"

#define EVENT_SOURCE_NAME 64u /* of a name, NUL included */

struct event_source {
	const char *system;
	uint32_t nr; /* at most this number */
	/* Put the name of the @i-th into @name. Return: 0: there is none. */
	int (*name)(uint32_t i, char name[EVENT_SOURCE_NAME]);
	/* event_add() it. */
	struct event *(*make)(uint32_t i, const char *name);
	struct event **made;	   /* NULL: none is */
	struct event_source *next; /* added before it */
};

void event_source_add(struct event_source *s);

/* The event of that name, which is made if it was not; NULL: no source has it. */
struct event *event_source_find(const char *system, size_t system_bytes, const char *name,
				size_t name_bytes);

/* Make those whose system and name fit: event_name_fits(). */
void event_sources_make(const char *system, size_t system_bytes, const char *name,
			size_t name_bytes, int either);

/* Call back for each that is not made. @system: NULL: of all systems. */
void event_sources_unmade(const char *system,
			  void (*callback)(void *arg, const char *system, const char *name),
			  void *arg);

/* A program defines an event of this name: if a source made it it goes. Return: whether it was. */
int event_source_give_way(struct event *e);

/* The system of that name that a source has, or NULL; the @i-th source's. */
const char *event_source_system(const char *system, size_t n);
const char *event_source_system_at(uint32_t i);

#endif
