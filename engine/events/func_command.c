/* SPDX-License-Identifier: MIT */
/*
 * enable_event and disable_event among the commands of set_ftrace_filter: a call of a function switches
 * an event of the same instance, as long as somebody has it in soft mode. Texts and errno as the
 * kernel's. find, get and put under the tree's lock; what a call does is one bit of the event's flags.
 * fork: the flags are the child's own with its memory. Tests: tests/engine/events/func_command.
 */
#include "engine/events/func_command.h"

#include <errno.h>

#include "abi/area.h"
#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/events/event.h"

static size_t to_colon(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] != ':')
		i++;
	return i;
}

/* `SYSTEM:EVENT[:...]` */
static void *find_event(struct trace_array *tr, const char *text, size_t n, size_t *used,
			uint16_t *id)
{
	size_t system = to_colon(text, n), event;
	struct event *e;

	if (!system || system == n)
		return NULL;
	event = to_colon(text + system + 1, n - system - 1);
	e = event_find(text, system, text + system + 1, event);
	if (!e || !e->class)
		return NULL;
	*used = system + 1 + event;
	*id = e->id;
	return event_file_get(e, tr);
}

static int get(void *file)
{
	return event_enable_soft(file, 1);
}

static void put(void *file)
{
	event_enable_soft(file, 0);
}

static int is_off(const void *file)
{
	const struct event_file *f = file;

	return !!(load_relaxed(&f->flags) & EVENT_FILE_SOFT_DISABLED);
}

static int is_on(const void *file)
{
	return !is_off(file);
}

static void switch_on(void *file)
{
	struct event_file *f = file;

	__atomic_and_fetch(&f->flags, ~(uint32_t)EVENT_FILE_SOFT_DISABLED, __ATOMIC_RELAXED);
}

static void switch_off(void *file)
{
	struct event_file *f = file;

	__atomic_or_fetch(&f->flags, EVENT_FILE_SOFT_DISABLED, __ATOMIC_RELAXED);
}

const struct probe_kind event_probe_kinds[] = {
	{"enable_event", AREA_PROBE_ENABLE_EVENT, find_event, get, put, is_off, switch_on},
	{"disable_event", AREA_PROBE_DISABLE_EVENT, find_event, get, put, is_on, switch_off},
	{NULL},
};
