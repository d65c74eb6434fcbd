/* SPDX-License-Identifier: MIT */
/*
 * The commands of set_ftrace_filter: `parse_*:traceoff:3` switches an instance's recording off when
 * one of these functions is called, three times. They stand beside the filters and filter nothing.
 */
#ifndef VESTIGE_CORE_PROBE_H
#define VESTIGE_CORE_PROBE_H

#include "engine/core/function_word.h"

struct trace_array;

/*
 * Commands about something that core does not know, `glob:enable_event:SYSTEM:EVENT`: whoever knows it
 * brings them. All but `act` under the tree's lock.
 */
struct probe_kind {
	const char *name;
	uint8_t command; /* enum area_probe_command */
	/*
	 * What @text, behind `name:`, names in the instance; *@used: its bytes, *@id: for the row.
	 * Return: it, or NULL: nothing.
	 */
	void *(*find)(struct trace_array *tr, const char *text, size_t n, size_t *used,
		      uint16_t *id);
	/* The first function has the command for @object, or the last has it no more. 0 or -errno. */
	int (*get)(void *object);
	void (*put)(void *object);
	/* Whether a call would change anything; only then it counts. Any context. */
	int (*changes)(const void *object);
	void (*act)(void *object);
};

/* A table of them, ended by one without a name; at start, once. */
void probe_kinds_register(const struct probe_kind *kinds);

/*
 * probe_apply() - add a command to functions, or take it from them.
 * @w: a word that has a command. Under the tree's lock.
 * Return: 0; -EINVAL: there is no such command or function, the count is none, all of the functions
 * have it, or (with `!`) none of them; -ENODEV: (with `!`) no function has it; -ENOMEM, -ENOSPC;
 * -errno of the hook.
 */
int probe_apply(struct trace_array *tr, const struct function_word *w);

/* The instance goes, and all of its commands. */
void probes_clear(struct trace_array *tr);

#endif
