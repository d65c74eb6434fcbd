/* SPDX-License-Identifier: MIT */
/*
 * The stack tracer's files but its filter (files_ftrace.c). What it found, the outside prints.
 * Under the tree's lock; nothing for fork. Tests: tests/engine/fire/stack_tracer.
 */
#include "engine/control/tree.h"
#include "engine/core/stack_tracer.h"

int stack_max_size_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)at;
	(void)truncate;
	return err ? err : stack_tracer_set_max(v);
}

int stack_tracer_enabled_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_puts(s, stack_tracer_is_on() ? "1\n" : "0\n");
	return 0;
}

int stack_tracer_enabled_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)at;
	(void)truncate;
	return err ? err : stack_tracer_set(v != 0);
}
