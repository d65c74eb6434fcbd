/* SPDX-License-Identifier: MIT */
/*
 * The table of control files and the two ways through it. Names, modes and texts are the kernel's
 * (tracefs). Runs in the constructor and wherever the program calls vestige_read(). Nothing for
 * fork: a child reads what its parent had. Tests: tests/engine/test_boot.py.
 */
#include "engine/control/tree.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/control/files_events.h"
#include "engine/control/files_profile.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/lock.h"
#include "engine/core/options.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/events/sched_perf.h"

/* The files of an event, which are no rows of the table; clients look for some of these words. */
static const char readme_events[] =
	"\n  events/SYSTEM/NAME/ of each event: enable, filter, format, id, trigger, hist\n"
	"  trigger\t- what happens when the event does, a command a write; `!` takes it back\n"
	"\t  traceon, traceoff, snapshot, stacktrace, each with [:count] [if filter]\n"
	"\t  enable_event:SYSTEM:NAME, disable_event:..., enable_hist:..., disable_hist:...\n"
	"\t  hist:keys=<field1[,field2,...]>[:values=<field1[,field2,...]>]\n"
	"\t    [:<var1>=<field|var_ref|numeric_literal>[,<var2>=...]][:sort=<field1[,field2]>]\n"
	"\t    [:size=#entries][:pause][:continue][:clear][:name=NAME][:nohitcount]\n"
	"\t    [:<handler>.<action>] [if filter]\n"
	"\t  a field of keys, values and variables can be any field, or the special string "
	"'common_stacktrace';\n"
	"\t    behind it: .hex .sym .sym-offset .execname .syscall .log2 .buckets=size .usecs "
	".percent .graph\n"
	"\t  handler: onmatch(matching.event) when a variable of that event was found,\n"
	"\t    onmax(var) when it is larger than before, onchange(var) when it is another\n"
	"\t  action: trace(<synthetic_event>,param list), save(field,...), snapshot()\n"
	"  hist\t- the histograms of the event\n";

static int readme_show(const struct tree_at *at, struct seq_buf *s);

#define ENGINE(path, mode, scope, show, store, help)                                               \
	{                                                                                          \
		path, mode, TREE_ENGINE, scope, show, store, help                                  \
	}
#define RENDERED(path, mode, scope, store, help)                                                   \
	{                                                                                          \
		path, mode, TREE_RENDERED, scope, NULL, store, help                                \
	}

/* clang-format off */
const struct tree_row tree_rows[] = {
	ENGINE("README", 0444, TREE_GLOBAL, readme_show, NULL, "this text"),
	ENGINE("available_tracers", 0444, TREE_INSTANCE, available_tracers_show, NULL,
	       "what current_tracer can be"),
	ENGINE("current_tracer", 0644, TREE_INSTANCE, current_tracer_show, current_tracer_store,
	       "which tracer records; a change empties the buffer"),
	ENGINE("tracing_on", 0644, TREE_INSTANCE, tracing_on_show, tracing_on_store,
	       "1: the buffer takes records, 0: it takes none"),
	RENDERED("trace", 0644, TREE_INSTANCE, trace_store,
		 "what is recorded, as text; opened with O_TRUNC (echo > trace) it is emptied"),
	RENDERED("latency_trace", 0444, TREE_GLOBAL, NULL, "the same as the option latency-format prints it"),
	RENDERED("trace_pipe", 0444, TREE_INSTANCE, NULL,
		 "the same, consuming: what is read is gone, and when nothing is left it waits"),
	RENDERED("snapshot", 0640, TREE_INSTANCE, snapshot_store,
		 "1: what is recorded is put aside here and the buffer is empty; 2: empties it, 0: frees it"),
	ENGINE("trace_marker", 0222, TREE_INSTANCE, NULL, trace_marker_store,
	       "what is written here stands in the trace"),
	ENGINE("trace_marker_raw", 0222, TREE_INSTANCE, NULL, trace_marker_raw_store,
	       "the same of bytes: four of a number, and data"),
	ENGINE("tracing_enabled", 0644, TREE_GLOBAL, tracing_on_show, tracing_on_store,
	       "tracing_on, by its oldest name"),
	ENGINE("tracing_cpumask", 0644, TREE_INSTANCE, tracing_cpumask_show, tracing_cpumask_store,
	       "the CPUs on which records are made, hexadecimal"),
	ENGINE("tracing_max_latency", 0644, TREE_INSTANCE, tracing_max_latency_show,
	       tracing_max_latency_store, "us: the longest latency so far; of tracers of latencies"),
	ENGINE("trace_clock", 0644, TREE_INSTANCE, trace_clock_show, trace_clock_store,
	       "what the time stamps are; a change empties the buffer"),
	ENGINE("trace_options", 0644, TREE_INSTANCE, trace_options_show, trace_options_store,
	       "options: write NAME to set one, noNAME to clear it"),
	ENGINE("option", 0644, TREE_OPTION, option_show, option_store,
	       "a file for each option: 0 or 1"),
	ENGINE("tracing_thresh", 0644, TREE_GLOBAL, tracing_thresh_show, tracing_thresh_store,
	       "us: function_graph keeps only calls that took longer, 0: all"),
	ENGINE("buffer_size_kb", 0644, TREE_INSTANCE, buffer_size_kb_show, buffer_size_kb_store,
	       "size of the buffer for one CPU"),
	ENGINE("buffer_size_kb", 0644, TREE_CPU, buffer_size_kb_show, buffer_size_kb_store,
	       "the same of this CPU alone"),
	ENGINE("timestamp_mode", 0444, TREE_INSTANCE, timestamp_mode_show, NULL,
	       "how trace_pipe_raw stamps: each record tells the time since the one before"),
	ENGINE("buffer_total_size_kb", 0444, TREE_INSTANCE, buffer_total_size_kb_show,
	       NULL, "the sum over all CPUs"),
	ENGINE("buffer_percent", 0644, TREE_INSTANCE, buffer_percent_show, buffer_percent_store,
	       "how full the buffer is when waiting readers of trace_pipe_raw are woken"),
	ENGINE("buffer_subbuf_size_kb", 0644, TREE_INSTANCE, buffer_subbuf_size_kb_show,
	       buffer_subbuf_size_kb_store, "size of a page of trace_pipe_raw: 4 to 512; a change empties the buffer"),
	ENGINE("free_buffer", 0200, TREE_INSTANCE, NULL, free_buffer_store,
	       "a write makes the buffer as small as it can be; with the option disable_on_free "
	       "tracing_on is 0 then"),
	RENDERED("available_filter_functions", 0444, TREE_GLOBAL, NULL,
		 "the functions that can be traced"),
	RENDERED("available_filter_functions_addrs", 0444, TREE_GLOBAL, NULL,
		 "the same with their addresses"),
	RENDERED("set_ftrace_filter", 0644, TREE_INSTANCE, set_ftrace_filter_store,
		 "trace these functions alone: names, globs, `glob:mod:object`, N, `!` takes out; `glob:traceoff[:N]`, traceon, dump, enable_event:SYSTEM:EVENT, disable_event: what a call does"),
	RENDERED("set_ftrace_notrace", 0644, TREE_INSTANCE, set_ftrace_notrace_store,
		 "never trace these"),
	ENGINE("set_ftrace_pid", 0644, TREE_INSTANCE, set_ftrace_pid_show, set_ftrace_pid_store,
	       "trace calls of these threads alone, by id"),
	ENGINE("set_ftrace_notrace_pid", 0644, TREE_INSTANCE, set_ftrace_notrace_pid_show,
	       set_ftrace_notrace_pid_store, "trace no calls of these"),
	RENDERED("set_graph_function", 0644, TREE_GLOBAL, set_graph_function_store,
		 "function_graph: trace the calls made beneath these functions alone"),
	RENDERED("set_graph_notrace", 0644, TREE_GLOBAL, set_graph_notrace_store,
		 "function_graph: do not trace these and what they call"),
	ENGINE("max_graph_depth", 0644, TREE_GLOBAL, max_graph_depth_show, max_graph_depth_store,
	       "function_graph: trace so many levels of calls, 0: all"),
	ENGINE("dyn_ftrace_total_info", 0444, TREE_GLOBAL, dyn_ftrace_total_info_show, NULL,
	       "how many functions and objects there are"),
	RENDERED("enabled_functions", 0444, TREE_GLOBAL, NULL,
		 "the functions that have callbacks now"),
	RENDERED("touched_functions", 0444, TREE_GLOBAL, NULL,
		 "the functions that ever had callbacks"),
	ENGINE("printk_formats", 0444, TREE_GLOBAL, printk_formats_show, NULL,
	       "the constant formats of trace_printk() and texts of trace_puts(), by address"),
	ENGINE("saved_cmdlines_size", 0644, TREE_GLOBAL, saved_cmdlines_size_show,
	       saved_cmdlines_size_store, "for how many threads there is room in saved_cmdlines"),
	ENGINE("function_profile_enabled", 0644, TREE_GLOBAL, function_profile_enabled_show,
	       function_profile_enabled_store,
	       "1: calls are counted and timed, see trace_stat/functionN for CPU N"),
	RENDERED("saved_cmdlines", 0444, TREE_GLOBAL, NULL, "names of threads by id"),
	RENDERED("saved_tgids", 0444, TREE_GLOBAL, NULL,
		 "processes of threads by id, once the option record-tgid was on"),
	ENGINE("available_events", 0444, TREE_GLOBAL, available_events_show, NULL,
	       "the events that can be switched on, SYSTEM:NAME"),
	ENGINE("atrace_tags", 0644, TREE_GLOBAL, atrace_tags_show, atrace_tags_store,
	       "tags of <vestige/atrace.h>, in brackets those whose calls write marks; `!` takes out"),
	ENGINE("set_event", 0644, TREE_INSTANCE, set_event_show, set_event_store,
	       "the events that are on: write SYSTEM:NAME, SYSTEM: or NAME, with `!` before it: off; "
	       "events/SYSTEM/NAME/enable does the same"),
	ENGINE("set_event_pid", 0644, TREE_INSTANCE, set_event_pid_show, set_event_pid_store,
	       "record the events of these threads alone; option event-fork: and of those they make"),
	ENGINE("set_event_notrace_pid", 0644, TREE_INSTANCE, set_event_notrace_pid_show,
	       set_event_notrace_pid_store, "never record those of these"),
	ENGINE("dynamic_events", 0640, TREE_GLOBAL, dynamic_events_show, dynamic_events_store,
	       "events that are defined by a write here, of all kinds: those of kprobe_events,\n"
	       "\t  uprobe_events, f[:[<group>/][<event>]] <func-name>[%return] [<args>],\n"
	       "\t  e[:[<group>/][<event>]] <attached-group>.<attached-event> [<args>] [if <filter>],\n"
	       "\t  t[:[<group>/][<event>]] <tracepoint> [<args>],\n"
	       "\t  and s:[synthetic/]<name> <field>[; <field>...], those of synthetic_events"),
	ENGINE("kprobe_events", 0640, TREE_GLOBAL, kprobe_events_show, kprobe_events_store,
	       "Create/append/remove/show probes of the program's functions, a definition a line\n"
	       "\t  p[:[<group>/][<event>]] <place> [<args>]\n"
	       "\t  r[maxactive][:[<group>/][<event>]] <place> [<args>]\n"
	       "\t  -:[<group>/][<event>]\n"
	       "\t  place: [<module>:]<symbol>[+<offset>]|<memaddr>\n"
	       "\t  place (kretprobe): [<module>:]<symbol>[+<offset>]%return|<memaddr>\n"
	       "\t  place (uprobe): <path>:<offset>[%return]\n"
	       "\t  args: [<name>=]fetcharg[:type]\n"
	       "\t  fetcharg: (%<register>|$arg<N>), $stack<index>, $stack, $retval,\n"
	       "\t    $comm, @<address>, @<symbol>[+|-<offset>], +|-[u]<offset>(<fetcharg>),\n"
	       "\t    \\imm-value, \\\"imm-string\", $arg*,\n"
	       "\t    <argname>[->field[->field|.field...]], where the program has DWARF\n"
	       "\t  kernel return probes support: $retval, $arg<N> as the call had it, $comm\n"
	       "\t  type: s8/16/32/64, u8/16/32/64, x8/16/32/64, char, symbol, string,\n"
	       "\t    ustring, b<bit-width>@<bit-offset>/<container-size>, <type>\\[<array-size>\\]"),
	ENGINE("kprobe_profile", 0440, TREE_GLOBAL, kprobe_profile_show, NULL,
	       "how often each was hit, and missed"),
	ENGINE("uprobe_events", 0640, TREE_GLOBAL, uprobe_events_show, uprobe_events_store,
	       "the same, by `/FILE:OFFSET`"),
	ENGINE("uprobe_profile", 0440, TREE_GLOBAL, uprobe_profile_show, NULL,
	       "how often each was hit"),
	ENGINE("synthetic_events", 0640, TREE_GLOBAL, synthetic_events_show, synthetic_events_store,
	       "Create/append/remove/show synthetic events, that an action of a histogram makes\n"
	       "\t  <name> <type> <field>[; <type> <field>...]\n"
	       "\t  example: echo 'waited u64 ns; char name[]; long[] stack' >> synthetic_events\n"
	       "\t  type: s8/16/32/64, u8/16/32/64, [unsigned] char, int, long, bool, pid_t, gfp_t,\n"
	       "\t    char name[<size>], char name[], [unsigned] long[] (a stack)"),
	ENGINE("eval_map", 0444, TREE_GLOBAL, eval_map_show, NULL,
	       "names in the formats of events, and the numbers that they stand for"),
	RENDERED("stack_trace", 0444, TREE_GLOBAL, NULL,
		 "the deepest stack that a thread had, see stack_tracer_enabled"),
	RENDERED("stack_max_size", 0644, TREE_GLOBAL, stack_max_size_store,
		 "how deep it was, in bytes; write 0 to begin anew"),
	RENDERED("stack_trace_filter", 0644, TREE_GLOBAL, stack_trace_filter_store,
		 "look at stacks where these functions are called alone"),
	ENGINE("stack_tracer_enabled", 0644, TREE_GLOBAL, stack_tracer_enabled_show,
	       stack_tracer_enabled_store,
	       "1: the deepest stack is looked for; the kernel's /proc/sys/kernel/stack_tracer_enabled"),
	ENGINE("error_log", 0644, TREE_INSTANCE, error_log_show, error_log_store,
	       "what was wrong with the last commands; a write with O_TRUNC empties it"),
	ENGINE("vestige_status", 0444, TREE_GLOBAL, vestige_status_show, NULL,
	       "what is refused in this process, and why"),
	ENGINE("vestige_paused", 0644, TREE_INSTANCE, vestige_paused_show, vestige_paused_store,
	       "how many want that nothing is recorded for now (option pause-on-trace); write 1 for one "
	       "more, 0 for one less"),
	RENDERED("trace", 0644, TREE_CPU, trace_store, "what this CPU recorded"),
	RENDERED("trace_pipe", 0444, TREE_CPU, NULL, "the same, consuming"),
	RENDERED("trace_pipe_raw", 0444, TREE_CPU, NULL,
		 "the same as the kernel's binary pages, consuming"),
	RENDERED("snapshot", 0640, TREE_CPU, snapshot_store, "the snapshot of this CPU"),
	RENDERED("snapshot_raw", 0444, TREE_CPU, NULL, "the same as the kernel's binary pages"),
	RENDERED("stats", 0444, TREE_CPU, NULL, "its counts of records and of losses"),
};
/* clang-format on */

static struct lock tree_lock;

const uint32_t tree_nr_rows = ARRAY_SIZE(tree_rows);

#define PER_CPU	  "per_cpu/cpu"
#define OPTIONS	  "options/"
#define INSTANCES "instances/"

const struct tree_branch *const tree_branches[] = {&events_branch, &trace_stat_branch};
const uint32_t tree_nr_branches = ARRAY_SIZE(tree_branches);

/* The number behind `per_cpu/cpu`, and what follows it. NULL: that is no CPU of ours. */
static const char *split_cpu(const char *path, uint32_t *cpu)
{
	uint32_t n = 0, digits;

	path += strlen(PER_CPU);
	for (digits = 0; *path >= '0' && *path <= '9' && digits < 5; path++, digits++)
		n = n * 10 + (uint32_t)(*path - '0');
	if (!digits || (*path && *path != '/') || !area || n >= area->nr_cpus)
		return NULL;
	*cpu = n;
	return path;
}

int tree_has_branch(const struct trace_array *tr, const struct tree_branch *b)
{
	return b->scope == TREE_INSTANCE || trace_array_is_top(tr);
}

/* The branch to which a path belongs, and what follows its name; or NULL. */
static const struct tree_branch *find_branch(const struct trace_array *tr, const char *path,
					     const char **rest)
{
	uint32_t i;

	for (i = 0; i < tree_nr_branches; i++) {
		const struct tree_branch *b = tree_branches[i];
		size_t n = strlen(b->name);

		if (!str_starts(path, b->name) || (path[n] && path[n] != '/') ||
		    !tree_has_branch(tr, b))
			continue;
		*rest = path + n + (path[n] == '/');
		return b;
	}
	return NULL;
}

/*
 * `instances/NAME`: the instance, and what follows its name. NULL: there is none of that name.
 */
static const char *split_instance(const char *path, struct trace_array **tr)
{
	const char *end;

	path += strlen(INSTANCES);
	for (end = path; *end && *end != '/'; end++)
		;
	*tr = trace_array_find(path, (size_t)(end - path));
	return *tr ? end : NULL;
}

int tree_option_is_global(int option)
{
	return option == AREA_OPTION_TRACE_PRINTK || option == AREA_OPTION_RECORD_CMD ||
	       option == AREA_OPTION_PRINTK_MSG_ONLY;
}

const struct tree_row *tree_find(const char *path, struct tree_at *at)
{
	const struct tree_branch *branch;
	const char *rest;
	uint32_t i;

	*at = (struct tree_at){.tr = &global_trace, .cpu = UINT32_MAX};
	if (str_starts(path, INSTANCES)) {
		path = split_instance(path, &at->tr);
		if (!path || !*path++)
			return NULL;
	}
	branch = find_branch(at->tr, path, &rest);
	if (branch)
		return branch->find(rest, at);
	if (str_starts(path, PER_CPU)) {
		path = split_cpu(path, &at->cpu);
		if (!path || !*path++)
			return NULL;
	} else if (str_starts(path, OPTIONS)) {
		int option = option_find(path + strlen(OPTIONS), strlen(path + strlen(OPTIONS)));

		if (option < 0 || (!trace_array_is_top(at->tr) && tree_option_is_global(option)))
			return NULL;
		at->option = (uint32_t)option;
		path = "option";
	} else if (str_equal(path, "option")) {
		return NULL;
	}
	for (i = 0; i < tree_nr_rows; i++)
		if (str_equal(tree_rows[i].path, path) &&
		    (tree_rows[i].scope == TREE_CPU) == (at->cpu != UINT32_MAX) &&
		    (tree_rows[i].scope != TREE_GLOBAL || trace_array_is_top(at->tr)))
			return &tree_rows[i];
	return NULL;
}

static void list_root(const struct trace_array *tr, tree_emit *emit, void *arg)
{
	int top = trace_array_is_top(tr);
	uint32_t i;

	for (i = 0; i < tree_nr_rows; i++)
		if (tree_rows[i].scope == TREE_INSTANCE ||
		    (top && tree_rows[i].scope == TREE_GLOBAL))
			emit(arg, tree_rows[i].path, &tree_rows[i]);
	emit(arg, "options", NULL);
	emit(arg, "per_cpu", NULL);
	for (i = 0; i < tree_nr_branches; i++)
		if (tree_has_branch(tr, tree_branches[i]))
			emit(arg, tree_branches[i]->name, NULL);
	if (top)
		emit(arg, "instances", NULL);
}

static void list_instances(tree_emit *emit, void *arg)
{
	uint32_t i;

	for (i = 1; i < RING_MAX; i++)
		if (trace_array_at(i))
			emit(arg, trace_array_at(i)->name, NULL);
}

static void list_options(const struct trace_array *tr, tree_emit *emit, void *arg)
{
	const struct tree_row *row = tree_rows;
	const char *name;
	uint32_t i;
	int bit;

	while (row->scope != TREE_OPTION)
		row++;
	for (i = 0; (name = option_at(i, &bit)); i++)
		if (trace_array_is_top(tr) || !tree_option_is_global(bit))
			emit(arg, name, row);
}

static void list_cpus(tree_emit *emit, void *arg)
{
	char name[16];
	struct seq_buf s;
	uint32_t cpu;

	for (cpu = 0; cpu < area->nr_cpus; cpu++) {
		seq_init(&s, name, sizeof(name) - 1);
		seq_puts(&s, "cpu");
		seq_putu(&s, cpu);
		name[s.len] = 0;
		emit(arg, name, NULL);
	}
}

static void list_cpu(tree_emit *emit, void *arg)
{
	uint32_t i;

	for (i = 0; i < tree_nr_rows; i++)
		if (tree_rows[i].scope == TREE_CPU)
			emit(arg, tree_rows[i].path, &tree_rows[i]);
}

static int list(const char *path, tree_emit *emit, void *arg)
{
	const struct tree_branch *branch;
	const char *rest;
	struct trace_array *tr = &global_trace;
	uint32_t cpu;

	if (str_starts(path, INSTANCES)) {
		path = split_instance(path, &tr);
		if (!path)
			return -ENOENT;
		path += *path == '/';
	}
	branch = find_branch(tr, path, &rest);
	if (branch)
		return branch->list(rest, emit, arg);
	if (!*path)
		list_root(tr, emit, arg);
	else if (str_equal(path, "instances") && trace_array_is_top(tr))
		list_instances(emit, arg);
	else if (str_equal(path, "options"))
		list_options(tr, emit, arg);
	else if (str_equal(path, "per_cpu"))
		list_cpus(emit, arg);
	else if (str_starts(path, PER_CPU) && (rest = split_cpu(path, &cpu)) && !*rest)
		list_cpu(emit, arg);
	else
		return -ENOENT;
	return 0;
}

/* One line a row of the table, as the kernel's mini-HOWTO has them. */
static int readme_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t i;

	(void)at;
	seq_puts(s, "tracing mini-HOWTO:\n\n"
		    "The kernel's tracefs files, of this process:\n\n"
		    "# echo 0 > tracing_on : quick way to disable tracing\n"
		    "# echo 1 > tracing_on : quick way to re-enable tracing\n\n");
	for (i = 0; i < tree_nr_rows; i++) {
		const struct tree_row *row = &tree_rows[i];

		seq_puts(s, row->scope == TREE_CPU ? "  per_cpu/cpuN/" : "  ");
		seq_puts(s, row->scope == TREE_OPTION ? "options/NAME" : row->path);
		seq_puts(s, "\t- ");
		seq_puts(s, row->help);
		seq_putc(s, '\n');
	}
	seq_puts(s, readme_events);
	return 0;
}

const char *tree_trim(const char *text, size_t *n)
{
	while (*n && (*text == ' ' || *text == '\t' || *text == '\n'))
		text++, (*n)--;
	while (*n && (text[*n - 1] == ' ' || text[*n - 1] == '\t' || text[*n - 1] == '\n'))
		(*n)--;
	return text;
}

int tree_word_is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

int tree_number(const char *text, size_t n, uint64_t *v)
{
	size_t i;

	/* base 10 alone: no 0x, and leading zeros are nothing special */
	for (i = 0; i + 1 < n && text[i] == '0' && text[i + 1] != '\n'; i++)
		;
	if (i && (text[i] < '0' || text[i] > '9'))
		return -EINVAL;
	return str_to_u64(text + i, n - i, v);
}

int tree_bool(const char *text, size_t n)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	return err ? err : v <= 1 ? (int)v : -EINVAL;
}

/*
 * Reading and writing find their row under the lock too: the instance that it belongs to may go
 * otherwise.
 */
static int row_for(const char *path, const struct tree_row **row, struct tree_at *at)
{
	*row = tree_find(path, at);
	return *row ? 0 : -ENOENT;
}

long tree_read(const char *path, struct seq_buf *s)
{
	const struct tree_row *row;
	struct tree_at at;
	int err;

	if (!area)
		return -ENODEV;
	lock_take(&tree_lock);
	sched_perf_drain();
	err = row_for(path, &row, &at);
	if (!err && row->kind == TREE_RENDERED)
		err = -EOPNOTSUPP;
	if (!err && !row->show)
		err = -EACCES;
	if (!err)
		err = row->show(&at, s);
	lock_release(&tree_lock);
	if (!err && s->lost)
		err = -EFBIG;
	return err ? err : (long)s->len;
}

/* Whether it is about stack traces, as far as the words tell. */
static int names_stacks(const char *text, size_t n)
{
	size_t i;

	for (i = 0; i + 10 <= n; i++)
		if (!memcmp(text + i, "stacktrace", 10) || !memcmp(text + i, "stack_trac", 10))
			return 1;
	return 0;
}

int tree_write(const char *path, const char *text, size_t n, int truncate)
{
	return tree_write_as(path, text, n, truncate, NULL);
}

int tree_write_as(const char *path, const char *text, size_t n, int truncate,
		  const struct agent_writer *writer)
{
	const struct tree_row *row;
	struct tree_at at;
	int err;

	if (!area)
		return -ENODEV;
	/* it may load an object, whose notification wants the lock */
	if (names_stacks(path, strlen(path)) || names_stacks(text, n))
		stack_prepare();
	lock_take(&tree_lock);
	/* what happened until now is not what the write makes of it */
	sched_perf_drain();
	err = row_for(path, &row, &at);
	if (!err && !row->store)
		err = -EACCES;
	if (!err) {
		at.writer = writer;
		err = row->store(&at, text, n, truncate);
		if (load_acquire(&area->state) == AREA_LIVE)
			tree_mirror(at.tr);
	}
	lock_release(&tree_lock);
	return err;
}

/* A line of what AGENT_LIST answers. */
static void list_line(void *arg, const char *name, const struct tree_row *row)
{
	struct seq_buf *s = arg;
	char mode[] = "100000";

	if (row) {
		mode[3] = (char)('0' + (row->mode >> 6 & 7));
		mode[4] = (char)('0' + (row->mode >> 3 & 7));
		mode[5] = (char)('0' + (row->mode & 7));
	}
	seq_puts(s, row ? mode : "040755");
	seq_putc(s, ' ');
	seq_puts(s, name);
	seq_putc(s, '\n');
}

long tree_list(const char *dir, struct seq_buf *s)
{
	int err;

	if (!area)
		return -ENODEV;
	lock_take(&tree_lock);
	err = list(dir, list_line, s);
	lock_release(&tree_lock);
	if (!err && s->lost)
		err = -EFBIG;
	return err ? err : (long)s->len;
}

int tree_mkdir(const char *path)
{
	const char *name = path + strlen(INSTANCES);
	int err;

	if (!str_starts(path, INSTANCES))
		return -EPERM;
	if (!area)
		return -ENODEV;
	lock_take(&tree_lock);
	err = trace_array_create(name, strlen(name));
	if (!err)
		tree_mirror(trace_array_find(name, strlen(name)));
	lock_release(&tree_lock);
	return err;
}

int tree_rmdir(const char *path)
{
	const char *name = path + strlen(INSTANCES);
	struct trace_array *tr;

	if (!str_starts(path, INSTANCES))
		return -EPERM;
	if (!area)
		return -ENODEV;
	lock_take(&tree_lock);
	tr = trace_array_find(name, strlen(name));
	if (tr)
		trace_array_destroy(tr);
	lock_release(&tree_lock);
	return tr ? 0 : -ENOENT;
}

void tree_lock_take(void)
{
	lock_take(&tree_lock);
}

#define LOCK_TRIES 1000

int tree_lock_try(void)
{
	int i;

	for (i = 0; i < LOCK_TRIES; i++) {
		if (lock_try(&tree_lock))
			return 1;
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
	return 0;
}

void tree_lock_release(void)
{
	lock_release(&tree_lock);
}

void tree_fork(void)
{
	lock_release(&tree_lock);
}
