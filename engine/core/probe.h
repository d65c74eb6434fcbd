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
 * probe_apply() - add a command to functions, or take it from them.
 * @w: a word that has a command. Under the tree's lock.
 * Return: 0; -EINVAL: there is no such command or function, the count is none, all of the functions
 * have it, or (with `!`) none of them; -ENODEV: (with `!`) no function has it; -ENOMEM, -ENOSPC;
 * -errno of the hook.
 */
int probe_apply(struct trace_array *tr, const struct function_word *w);

/* The instance goes, and all of its commands. */
void probes_clear(struct trace_array *tr);

/* In a fork's child, whose area has none: they go on in it, as its filters do. */
void probes_fork(void);

#endif
