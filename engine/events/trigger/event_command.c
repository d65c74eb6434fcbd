/* SPDX-License-Identifier: MIT */
/*
 * enable_event and disable_event among the commands of set_ftrace_filter: a call of a function
 * switches an event of the same instance, which is in soft mode for that. Texts and errno are the
 * kernel's. find, get and put are called under the tree lock; a function's call changes one bit of
 * the event's flags. fork: the child has its own copy of the flags. Tests:
 * tests/engine/events/func_command.
 */
#include <errno.h>

#include "abi/area.h"
#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/core/func_command.h"
#include "engine/events/event.h"

static size_t to_colon(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && text[i] != ':')
		i++;
	return i;
}

/* Find the event of `SYSTEM:EVENT[:...]`. */
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

static int may_switch_on(const void *file)
{
	return event_file_may_switch(file, 1);
}

static int may_switch_off(const void *file)
{
	return event_file_may_switch(file, 0);
}

static void switch_on(void *file)
{
	event_file_switch(file, 1);
}

static void switch_off(void *file)
{
	event_file_switch(file, 0);
}

static const struct func_command enable_event = {
	.name = "enable_event",
	.find = find_event,
	.get = get,
	.put = put,
	.changes = may_switch_on,
	.act = switch_on,
};
static const struct func_command disable_event = {
	.name = "disable_event",
	.find = find_event,
	.get = get,
	.put = put,
	.changes = may_switch_off,
	.act = switch_off,
};
FUNC_COMMAND_REGISTER(enable_event);
FUNC_COMMAND_REGISTER(disable_event);
