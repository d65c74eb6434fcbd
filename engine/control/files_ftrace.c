/* SPDX-License-Identifier: MIT */
/*
 * The files that choose functions. Grammar: words separated by blanks, see function_set_apply();
 * with O_TRUNC the list is emptied first, and a word that names nothing is EINVAL, the words before
 * it stay. Constructor context. Tests: tests/engine/test_filter.py.
 */
#include <errno.h>

#include "engine/control/tree.h"
#include "engine/core/function.h"
#include "engine/core/function_word.h"
#include "engine/core/probe.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/trace_array.h"

/* @tr: where commands may stand beside functions, else NULL. */
static int apply_words(struct function_set *set, struct trace_array *tr, const char *text, size_t n,
		       int truncate)
{
	struct function_word w;
	size_t at = 0, bytes;
	const char *word;
	int err = 0;

	if (truncate)
		function_set_clear(set);
	while (!err && (word = function_word_next(text, n, &at, &bytes))) {
		err = function_word_parse(word, bytes, &w);
		if (!err && w.command && tr)
			err = probe_apply(tr, &w);
		else if (!err)
			err = function_set_apply(set, word, bytes);
	}
	return err;
}

static int store_set(struct function_set *set, struct trace_array *tr, const char *text, size_t n,
		     int truncate)
{
	int err = apply_words(set, tr, text, n, truncate);
	int update = ftrace_update();

	return err ? err : update;
}

int set_ftrace_filter_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return store_set(&at->tr->filter, at->tr, text, n, truncate);
}

int set_ftrace_notrace_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return store_set(&at->tr->notrace, NULL, text, n, truncate);
}

int stack_trace_filter_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	int err = apply_words(&stack_trace_filter, NULL, text, n, truncate);
	int update = stack_tracer_update();

	(void)at;
	return err ? err : update;
}

static int show_pids(const struct trace_array *tr, int notrace, struct seq_buf *s)
{
	const struct pid_list *l = trace_array_pids(tr, notrace);
	uint32_t pid;

	if (!l)
		seq_puts(s, "no pid\n");
	for (pid = 0; l && (pid = pid_list_next(l, pid)) < PID_LIST_MAX; pid++) {
		seq_putu(s, pid);
		seq_putc(s, '\n');
	}
	return 0;
}

int set_ftrace_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 0, s);
}

int set_ftrace_pid_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return trace_array_set_pids(at->tr, 0, text, n, truncate);
}

int set_ftrace_notrace_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 1, s);
}

int set_ftrace_notrace_pid_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return trace_array_set_pids(at->tr, 1, text, n, truncate);
}

static int store_graph(struct function_set *set, const char *text, size_t n, int truncate)
{
	int err = apply_words(set, NULL, text, n, truncate);
	int update = ftrace_graph_update();

	return err ? err : update;
}

int set_graph_function_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store_graph(&graph_function, text, n, truncate);
}

int set_graph_notrace_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)at;
	return store_graph(&graph_notrace, text, n, truncate);
}

int max_graph_depth_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_putu(s, graph_max_depth);
	seq_putc(s, '\n');
	return 0;
}

int max_graph_depth_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)at;
	(void)truncate;
	if (err)
		return err;
	graph_max_depth = (uint32_t)(v < UINT32_MAX ? v : UINT32_MAX);
	return ftrace_graph_update();
}

int tracing_thresh_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_putu(s, tracing_thresh_ns / 1000);
	seq_putc(s, '\n');
	return 0;
}

int tracing_thresh_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t us;
	int err = tree_number(text, n, &us);

	(void)at;
	(void)truncate;
	if (err)
		return err;
	tracing_thresh_ns = us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX;
	return ftrace_graph_update();
}

int dyn_ftrace_total_info_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_putu(s, function_count());
	seq_puts(s, " functions, ");
	seq_putu(s, object_count());
	seq_puts(s, " objects\n");
	return 0;
}
