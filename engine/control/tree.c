/* SPDX-License-Identifier: MIT */
/*
 * The table of control files and the two ways through it. Names, modes and texts are the kernel's
 * (tracefs). Runs in the constructor and wherever the program calls vestige_read(). Nothing for
 * fork: a child reads what its parent had. Tests: tests/engine/test_boot.py.
 */
#include "engine/control/tree.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/lock.h"

#define ENGINE(path, mode, scope, show, store)                                                     \
	{                                                                                          \
		path, mode, TREE_ENGINE, scope, show, store                                        \
	}
#define RENDERED(path, mode, scope, store)                                                         \
	{                                                                                          \
		path, mode, TREE_RENDERED, scope, NULL, store                                      \
	}

const struct tree_row tree_rows[] = {
	ENGINE("available_tracers", 0444, TREE_GLOBAL, available_tracers_show, NULL),
	ENGINE("buffer_size_kb", 0444, TREE_INSTANCE, buffer_size_kb_show, NULL),
	ENGINE("buffer_total_size_kb", 0444, TREE_INSTANCE, buffer_total_size_kb_show, NULL),
	ENGINE("current_tracer", 0644, TREE_INSTANCE, current_tracer_show, current_tracer_store),
	ENGINE("dyn_ftrace_total_info", 0444, TREE_GLOBAL, dyn_ftrace_total_info_show, NULL),
	ENGINE("trace_clock", 0644, TREE_INSTANCE, trace_clock_show, trace_clock_store),
	ENGINE("trace_options", 0644, TREE_INSTANCE, trace_options_show, trace_options_store),
	ENGINE("tracing_on", 0644, TREE_INSTANCE, tracing_on_show, tracing_on_store),
	ENGINE("vestige_status", 0444, TREE_GLOBAL, vestige_status_show, NULL),
	RENDERED("available_filter_functions", 0444, TREE_GLOBAL, NULL),
	RENDERED("enabled_functions", 0444, TREE_GLOBAL, NULL),
	RENDERED("set_ftrace_filter", 0644, TREE_INSTANCE, set_ftrace_filter_store),
	RENDERED("set_ftrace_notrace", 0644, TREE_INSTANCE, set_ftrace_notrace_store),
	RENDERED("trace", 0444, TREE_INSTANCE, NULL),
	RENDERED("saved_cmdlines", 0444, TREE_GLOBAL, NULL),
	RENDERED("stats", 0444, TREE_CPU, NULL),
};

static struct lock tree_lock;

const uint32_t tree_nr_rows = ARRAY_SIZE(tree_rows);

const struct tree_row *tree_find(const char *path)
{
	uint32_t i;

	for (i = 0; i < tree_nr_rows; i++)
		if (str_equal(tree_rows[i].path, path))
			return &tree_rows[i];
	return NULL;
}

/* What both doors check before they use a row. */
static int row_for(const char *path, const struct tree_row **row)
{
	*row = tree_find(path);
	if (!*row)
		return -ENOENT;
	return area ? 0 : -ENODEV;
}

long tree_read(const char *path, struct seq_buf *s)
{
	const struct tree_row *row;
	int err = row_for(path, &row);

	if (!err && row->kind == TREE_RENDERED)
		err = -EOPNOTSUPP;
	if (!err && !row->show)
		err = -EACCES;
	if (!err) {
		lock_take(&tree_lock);
		err = row->show(s);
		lock_release(&tree_lock);
	}
	if (!err && s->lost)
		err = -EFBIG;
	return err ? err : (long)s->len;
}

int tree_write(const char *path, const char *text, size_t n, int truncate)
{
	const struct tree_row *row;
	int err = row_for(path, &row);

	if (!err && !row->store)
		err = -EACCES;
	if (!err) {
		lock_take(&tree_lock);
		err = row->store(text, n, truncate);
		lock_release(&tree_lock);
	}
	return err;
}

void tree_lock_take(void)
{
	lock_take(&tree_lock);
}

void tree_lock_release(void)
{
	lock_release(&tree_lock);
}

void tree_fork(void)
{
	lock_release(&tree_lock);
}
