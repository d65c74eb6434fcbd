/* SPDX-License-Identifier: MIT */
/*
 * The files that choose functions. Grammar: words separated by blanks, see function_set_apply().
 * With O_TRUNC the list is emptied first. A word that matches no function is EINVAL; the words
 * before it have been applied. Constructor context. Tests: tests/engine/fire/control, late.
 */
#include <errno.h>

#include "engine/base/text.h"
#include "engine/control/tree.h"
#include "engine/core/func_command.h"
#include "engine/core/function.h"
#include "engine/core/function_word.h"
#include "engine/core/latency.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/trace_array.h"

/* set_ftrace_filter: functions and commands. */
static int apply_filter(struct trace_array *tr, const char *text, size_t n, int truncate)
{
	struct function_word w;
	struct word rest = {text, n}, word;
	int err = 0;

	if (truncate)
		function_set_clear(&tr->filter);
	while (!err && (word = word_take(&rest)).n) {
		err = function_word_parse(word.at, word.n, &w);
		if (!err && w.command)
			err = func_command_apply(tr, &w);
		else if (!err)
			err = function_set_apply(&tr->filter, word.at, word.n);
	}
	return err;
}

static int set_ftrace_filter_store(const struct tree_at *at, const char *text, size_t n,
				   int truncate)
{
	int err = apply_filter(at->tr, text, n, truncate);
	int update = ftrace_update();

	return err ? err : update;
}

static int set_ftrace_notrace_store(const struct tree_at *at, const char *text, size_t n,
				    int truncate)
{
	int err = function_set_apply_words(&at->tr->notrace, text, n, truncate);
	int update = ftrace_update();

	return err ? err : update;
}

static int stack_trace_filter_store(const struct tree_at *at, const char *text, size_t n,
				    int truncate)
{
	int err = function_set_apply_words(&stack_trace_filter, text, n, truncate);
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

static int set_ftrace_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 0, s);
}

static int set_ftrace_pid_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	return trace_array_set_pids(at->tr, 0, text, n, truncate);
}

static int set_ftrace_notrace_pid_show(const struct tree_at *at, struct seq_buf *s)
{
	return show_pids(at->tr, 1, s);
}

static int set_ftrace_notrace_pid_store(const struct tree_at *at, const char *text, size_t n,
					int truncate)
{
	return trace_array_set_pids(at->tr, 1, text, n, truncate);
}

static int store_graph(struct function_set *set, const char *text, size_t n, int truncate)
{
	int err = function_set_apply_words(set, text, n, truncate);
	int update = ftrace_graph_update();

	return err ? err : update;
}

static int set_graph_function_store(const struct tree_at *at, const char *text, size_t n,
				    int truncate)
{
	(void)at;
	return store_graph(&graph_function, text, n, truncate);
}

static int set_graph_notrace_store(const struct tree_at *at, const char *text, size_t n,
				   int truncate)
{
	(void)at;
	return store_graph(&graph_notrace, text, n, truncate);
}

static uint64_t max_graph_depth_get(const struct tree_at *at)
{
	(void)at;
	return graph_max_depth;
}

static int max_graph_depth_set(const struct tree_at *at, uint64_t v)
{
	(void)at;
	graph_max_depth = (uint32_t)v; /* cut, as in the kernel */
	return ftrace_graph_update();
}

static uint64_t tracing_thresh_get(const struct tree_at *at)
{
	(void)at;
	return tracing_thresh_ns / 1000;
}

static int tracing_thresh_set(const struct tree_at *at, uint64_t us)
{
	(void)at;
	tracing_thresh_ns = us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX;
	latency_thresh_changed();
	return ftrace_graph_update();
}

static int dyn_ftrace_total_info_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_putu(s, at->mirrored ? function_count_known() : function_count());
	seq_puts(s, " functions, ");
	seq_putu(s, object_count());
	seq_puts(s, " objects\n");
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"tracing_thresh", 0644, .scope = TREE_GLOBAL,
	 .get = tracing_thresh_get, .set = tracing_thresh_set,
	 .help = "us: function_graph keeps only calls that took longer, latency tracers each stretch; 0: all"},
	{"available_filter_functions", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the functions that can be traced"},
	{"available_filter_functions_addrs", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the same with their addresses"},
	{"set_ftrace_filter", 0644, .nul = TREE_NUL_DIVIDES, .kind = TREE_RENDERED,
	 .store = set_ftrace_filter_store,
	 .help = "trace these functions alone: names, globs, `glob:mod:object`, N, `!` takes out; `glob:traceoff[:N]`, traceon, dump, enable_event:SYSTEM:EVENT, disable_event: what a call does"},
	{"set_ftrace_notrace", 0644, .nul = TREE_NUL_DIVIDES, .kind = TREE_RENDERED,
	 .store = set_ftrace_notrace_store,
	 .help = "never trace these"},
	{"set_ftrace_pid", 0644, .nul = TREE_NUL_DIVIDES, .show = set_ftrace_pid_show,
	 .store = set_ftrace_pid_store,
	 .help = "trace calls of these threads alone, by id"},
	{"set_ftrace_notrace_pid", 0644, .nul = TREE_NUL_DIVIDES,
	 .show = set_ftrace_notrace_pid_show, .store = set_ftrace_notrace_pid_store,
	 .help = "trace no calls of these"},
	{"set_graph_function", 0644, .nul = TREE_NUL_DIVIDES, .scope = TREE_GLOBAL,
	 .kind = TREE_RENDERED,
	 .store = set_graph_function_store,
	 .help = "function_graph: trace the calls made beneath these functions alone"},
	{"set_graph_notrace", 0644, .nul = TREE_NUL_DIVIDES, .scope = TREE_GLOBAL,
	 .kind = TREE_RENDERED,
	 .store = set_graph_notrace_store,
	 .help = "function_graph: do not trace these and what they call"},
	{"max_graph_depth", 0644, .scope = TREE_GLOBAL,
	 .get = max_graph_depth_get, .set = max_graph_depth_set,
	 .help = "function_graph: trace this number of levels of calls, 0: all"},
	{"dyn_ftrace_total_info", 0444, .scope = TREE_GLOBAL, .show = dyn_ftrace_total_info_show,
	 .help = "how many functions and objects there are"},
	{"enabled_functions", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the functions that have callbacks now"},
	{"touched_functions", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the functions that ever had callbacks"},
	{"stack_trace_filter", 0644, .nul = TREE_NUL_DIVIDES, .scope = TREE_GLOBAL,
	 .kind = TREE_RENDERED,
	 .store = stack_trace_filter_store,
	 .help = "look at stacks where these functions are called alone"},
};
/* clang-format on */
TREE_FILES(rows);
