/* SPDX-License-Identifier: MIT */
/*
 * The kmemtrace tracer's own files. Under the tree lock; fork: the child has the same. Tests:
 * tests/engine/tracers/kmemtrace.
 */
#include "engine/control/tree.h"
#include "engine/sources/deputies.h"
#include "engine/tracers/kmemtrace.h"

static int kmemtrace_allocators_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	deputies_show(&allocators, s);
	return 0;
}

static int kmemtrace_allocators_store(const struct tree_at *at, const char *text, size_t n,
				      int truncate)
{
	(void)at;
	(void)truncate;
	return deputies_set(&allocators, text, n);
}

static uint64_t kmemtrace_stacks_get(const struct tree_at *at)
{
	(void)at;
	return kmemtrace_stacks();
}

static int kmemtrace_stacks_set(const struct tree_at *at, uint64_t bytes)
{
	(void)at;
	return kmemtrace_set_stacks(bytes);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"kmemtrace_allocators", 0644, .scope = TREE_GLOBAL,
	 .show = kmemtrace_allocators_show, .store = kmemtrace_allocators_store,
	 .help = "functions that allocate for their callers, for the tracer kmemtrace"},
	{"kmemtrace_stacks", 0644, .scope = TREE_GLOBAL,
	 .get = kmemtrace_stacks_get, .set = kmemtrace_stacks_set,
	 .help = "0: kmemtrace counts by call site; N: by stack, one for each N bytes, 1: all"},
};
/* clang-format on */
TREE_FILES(rows);
