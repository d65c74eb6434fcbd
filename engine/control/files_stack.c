/* SPDX-License-Identifier: MIT */
/*
 * The stack tracer's files, except its filter (files_ftrace.c). The tools print the stack. Under
 * the tree lock; nothing for fork. Tests: tests/engine/fire/stack_tracer.
 */
#include "engine/control/tree.h"
#include "engine/core/stack_tracer.h"

static int stack_max_size_set(const struct tree_at *at, uint64_t bytes)
{
	(void)at;
	return stack_tracer_set_max(bytes);
}

static uint64_t stack_tracer_enabled_get(const struct tree_at *at)
{
	(void)at;
	return (uint64_t)stack_tracer_is_on();
}

static int stack_tracer_enabled_set(const struct tree_at *at, uint64_t on)
{
	(void)at;
	return stack_tracer_set((int)on);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"stack_trace", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the deepest stack that a thread had, see stack_tracer_enabled"},
	{"stack_max_size", 0644, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .set = stack_max_size_set,
	 .help = "how deep it was, in bytes; write 0 to begin anew"},
	{"stack_tracer_enabled", 0644, .scope = TREE_GLOBAL, .type = TREE_SWITCH,
	 .get = stack_tracer_enabled_get, .set = stack_tracer_enabled_set,
	 .help = "1: the deepest stack is looked for; the kernel's /proc/sys/kernel/stack_tracer_enabled"},
};
/* clang-format on */
TREE_FILES(rows);
