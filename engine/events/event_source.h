/* SPDX-License-Identifier: MIT */
/*
 * Events that are known by name and made at their first use, so that the hundreds of system calls
 * cost nothing before. A list of events shows them all. To open a file of such an event, to enable
 * it or to name it makes it. Under the tree lock.
 */
#ifndef VESTIGE_EVENTS_EVENT_SOURCE_H
#define VESTIGE_EVENTS_EVENT_SOURCE_H

#include "engine/events/event.h"

#define EVENT_SOURCE_NAME 64u /* of a name, NUL included */

struct event_source {
	const char *system;
	uint32_t nr; /* upper limit of @i below */
	/* Put the name of the @i-th event into @name. Return: 1; 0: there is none. */
	int (*name)(uint32_t i, char name[EVENT_SOURCE_NAME]);
	/* Make the event by event_add(). Return: it, or NULL. */
	struct event *(*make)(uint32_t i, const char *name);
	struct event **made;	   /* the events that were made; NULL: none */
	struct event_source *next; /* added before it */
};

void event_source_add(struct event_source *s);

/* The event of that name, which is made if needed; NULL: no source has it. */
struct event *event_source_find(const char *system, size_t system_bytes, const char *name,
				size_t name_bytes);

/* Make the events whose system and name match: event_name_fits(). */
void event_sources_make(const char *system, size_t system_bytes, const char *name,
			size_t name_bytes, int either);

/* Call @callback for each event that has not been made. @system: NULL: of all systems. */
void event_sources_unmade(const char *system,
			  void (*callback)(void *arg, const char *system, const char *name),
			  void *arg);

/*
 * A program defines an event of this name: if a source made @e, remove it. Return: whether it was.
 */
int event_source_give_way(struct event *e);

/* The name of the system if a source has it, or NULL. The second function: the @i-th source's. */
const char *event_source_system(const char *system, size_t n);
const char *event_source_system_at(uint32_t i);

#endif
