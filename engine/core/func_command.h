/* SPDX-License-Identifier: MIT */
/*
 * Func commands, in set_ftrace_filter: `parse_*:traceoff:3` switches an instance's recording off
 * when one of these functions is called, three times; `glob:enable_event:SYSTEM:EVENT` switches an
 * event. They are listed with the filters and filter nothing. A command is one struct func_command
 * and one FUNC_COMMAND_REGISTER(), in the file of what it acts on. Its name is in the area, so the
 * tools list it without knowing it.
 */
#ifndef VESTIGE_CORE_FUNC_COMMAND_H
#define VESTIGE_CORE_FUNC_COMMAND_H

#include "engine/base/registry.h"
#include "engine/core/function_word.h"

struct trace_array;

/*
 * A command. All functions but `changes` and `act` are called under the tree lock. @object: what
 * the command acts on.
 */
struct func_command {
	const char *name; /* without blanks and colons */
	uint8_t once;	  /* it acts only once, whatever the count is */
	/*
	 * Find what @text, behind `name:`, means in the instance. *@used: its bytes; *@id: the id
	 * of an event, which is listed with the command; 0: none. Return: the object; NULL: there
	 * is none. find NULL: the command acts on the instance itself.
	 */
	void *(*find)(struct trace_array *tr, const char *text, size_t n, size_t *used,
		      uint16_t *id);
	/* Before functions get the command. Return: 0 or -errno. NULL: nothing to do. */
	int (*prepare)(void *object);
	/*
	 * Called when the first function gets the command, and when the last one loses it. Return:
	 * 0 or -errno. NULL: nothing to do.
	 */
	int (*get)(void *object);
	void (*put)(void *object);
	/*
	 * Whether a call would change anything; a call that does not is not counted. Any context.
	 * NULL: always.
	 */
	int (*changes)(const void *object);
	/* Do it. Any context. */
	void (*act)(void *object);
};

REGISTRY(vestige_func_commands, const struct func_command);
#define FUNC_COMMAND_REGISTER(self) REGISTRY_ADD(vestige_func_commands, self)

/*
 * func_command_apply() - give a command to functions, or take it from them. @w: a word with a
 * command. Under the tree lock. Return: 0; -EINVAL: there is no such command or function, the count
 * is no number, all of the functions have the command already, or (with `!`) none of them has it;
 * -ENODEV: (with `!`) no function at all has it; -ENOMEM, -ENOSPC; -errno of the hook.
 */
int func_command_apply(struct trace_array *tr, const struct function_word *w);

/* The names of all commands, with a blank between two. Any context. */
const char *func_command_names(void);

/* The instance is removed: remove all of its commands. */
void func_commands_clear(struct trace_array *tr);

#endif
