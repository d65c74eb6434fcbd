/* SPDX-License-Identifier: MIT */
/*
 * See event_source.h. Owns the list of sources. Events that were made stay. fork: nothing. Tests:
 * tests/engine/events/syscalls.
 */
#include "engine/events/event_source.h"

#include "engine/base/mem.h"
#include "engine/process/heap.h"

static struct event_source *sources;
static int making; /* an event is being made, so a lookup of its name must not make it again */

void event_source_add(struct event_source *s)
{
	s->next = sources;
	sources = s;
}

static struct event *make_at(struct event_source *s, uint32_t i, const char *name)
{
	if (!s->made)
		s->made = heap_alloc(s->nr * sizeof(struct event *));
	if (!s->made)
		return NULL;
	if (!s->made[i]) {
		making = 1;
		s->made[i] = s->make(i, name);
		making = 0;
	}
	return s->made[i];
}

struct event *event_source_find(const char *system, size_t system_bytes, const char *name,
				size_t name_bytes)
{
	char one[EVENT_SOURCE_NAME];
	struct event_source *s;
	uint32_t i;

	for (s = making ? NULL : sources; s; s = s->next) {
		if (!event_name_is(s->system, system, system_bytes))
			continue;
		for (i = 0; i < s->nr; i++)
			if (s->name(i, one) && event_name_is(one, name, name_bytes))
				return make_at(s, i, one);
	}
	return NULL;
}

void event_sources_make(const char *system, size_t system_bytes, const char *name,
			size_t name_bytes, int either)
{
	char one[EVENT_SOURCE_NAME];
	struct event_source *s;
	uint32_t i;

	for (s = sources; s; s = s->next)
		for (i = 0; i < s->nr; i++)
			if (s->name(i, one) && event_name_fits(s->system, one, system, system_bytes,
							       name, name_bytes, either))
				make_at(s, i, one);
}

void event_sources_unmade(const char *system,
			  void (*callback)(void *arg, const char *system, const char *name),
			  void *arg)
{
	char one[EVENT_SOURCE_NAME];
	struct event_source *s;
	uint32_t i;

	for (s = sources; s; s = s->next) {
		if (system && !str_equal(s->system, system))
			continue;
		for (i = 0; i < s->nr; i++)
			if (!(s->made && s->made[i]) && s->name(i, one))
				callback(arg, s->system, one);
	}
}

const char *event_source_system(const char *system, size_t n)
{
	const struct event_source *s;

	for (s = sources; s; s = s->next)
		if (event_name_is(s->system, system, n))
			return s->system;
	return NULL;
}

const char *event_source_system_at(uint32_t i)
{
	const struct event_source *s = sources;

	while (s && i--)
		s = s->next;
	return s ? s->system : NULL;
}

int event_source_give_way(struct event *e)
{
	const struct event_source *s;
	uint32_t i;

	for (s = sources; s; s = s->next)
		for (i = 0; s->made && i < s->nr; i++)
			if (s->made[i] == e) {
				event_gone(e);
				return 1;
			}
	return 0;
}
