/* SPDX-License-Identifier: MIT */
/*
 * The tracefs of this process: ONE table of files. What a row reads as is answered by the engine, or
 * rendered by the outside from the area (the inside door then says EOPNOTSUPP); writes are always
 * the engine's. The doors are the
 * environment, which replays writes at start, vestige_read() and vestige_write() inside the process,
 * and the agent for all that comes from outside. One call at a time: the table has a lock.
 */
#ifndef VESTIGE_CONTROL_TREE_H
#define VESTIGE_CONTROL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/seq_buf.h"

struct agent_writer;
struct trace_array;

enum tree_kind {
	TREE_ENGINE,
	TREE_RENDERED,
};

enum tree_scope {
	TREE_INSTANCE, /* each instance has one */
	TREE_GLOBAL,   /* the top one alone */
	TREE_CPU,      /* per_cpu/cpuN/ of each instance */
	TREE_OPTION,   /* options/NAME: one for each option */
	TREE_BRANCH,   /* beneath a folder whose files come and go: struct tree_branch */
};

/* What a path names beyond its row. */
struct tree_at {
	struct trace_array *tr; /* whose file it is */
	uint32_t cpu;		/* TREE_CPU: N; else UINT32_MAX: all of them */
	uint32_t option;	/* TREE_OPTION: enum area_option */
	uint32_t mirrored;	/* the text is for the area, where it must be short */
	void *object;		/* TREE_BRANCH: what the names in the path mean */
	/* A write's: a thread elsewhere that writes; NULL: the calling thread does. */
	const struct agent_writer *writer;
};

struct tree_row {
	const char *path;
	uint16_t mode; /* as the kernel's: 0444, 0640 ... */
	uint8_t kind;  /* enum tree_kind */
	uint8_t scope; /* enum tree_scope */
	/* Put the file's text into @s. NULL: not readable. */
	int (*show)(const struct tree_at *at, struct seq_buf *s);
	/*
	 * Take one write.
	 * @truncate: the file was opened with O_TRUNC.
	 * Return: 0 or -errno.
	 */
	int (*store)(const struct tree_at *at, const char *text, size_t n, int truncate);
	const char *help; /* for README; NULL: the row before it says it */
};

extern const struct tree_row tree_rows[];
extern const uint32_t tree_nr_rows;

/* For each name in a folder; @row: of a file, NULL: it is a folder. */
typedef void tree_emit(void *arg, const char *name, const struct tree_row *row);

/*
 * A folder whose files come and go (events/). The tree knows its name alone; both are called under
 * the tree's lock.
 */
struct tree_branch {
	const char *name;
	/* The row of @rest, the path beneath the folder, and at->object; NULL: there is no such file. */
	const struct tree_row *(*find)(const char *rest, struct tree_at *at);
	/* Each name in the folder @rest beneath it, "" is itself. Return: 0 or -ENOENT. */
	int (*list)(const char *rest, tree_emit *emit, void *arg);
	uint8_t scope; /* TREE_INSTANCE or TREE_GLOBAL */
	/* For who cannot ask: text of the folder's own form. NULL: there is none. */
	void (*left)(const struct trace_array *tr, struct seq_buf *s);
};

extern const struct tree_branch *const tree_branches[];
extern const uint32_t tree_nr_branches;

/*
 * The row of that path, and what the path names beyond it; or NULL. Under the tree's lock, as what a
 * branch has may change.
 */
const struct tree_row *tree_find(const char *path, struct tree_at *at);

/* Return: bytes of text in @s; -ENOENT, -EACCES, -EOPNOTSUPP (a rendered row), -EFBIG. */
long tree_read(const char *path, struct seq_buf *s);

/* Return: 0; -ENOENT, -EACCES, -EOPNOTSUPP, or what the row says. */
int tree_write(const char *path, const char *text, size_t n, int truncate);

/* The same on behalf of a thread elsewhere. */
int tree_write_as(const char *path, const char *text, size_t n, int truncate,
		  const struct agent_writer *writer);

/*
 * tree_list() - a folder of the tree as AGENT_LIST has it (abi/agent.h). @dir: "" is the root.
 * Return: bytes of text in @s; -ENOENT, -EFBIG.
 */
long tree_list(const char *dir, struct seq_buf *s);

/* Show the tree in the instance's area as it is now. Under the tree's lock, or where nobody else runs. */
void tree_mirror(struct trace_array *tr);

/* Whether the instance has the folder. */
int tree_has_branch(const struct trace_array *tr, const struct tree_branch *b);

/* Whether instances lack the option: it is about what all of them share. */
int tree_option_is_global(int option);

/*
 * tree_mkdir(), tree_rmdir() - make or remove the instance `instances/NAME`.
 * Return: 0; -EPERM: the path is none of an instance; -ENOENT, -EEXIST and what
 * trace_array_create() says.
 */
int tree_mkdir(const char *path);
int tree_rmdir(const char *path);

/* For what changes the same state from elsewhere: the loader's notification. */
void tree_lock_take(void);
void tree_lock_release(void);

/* The same at exit(), where whoever has it may never give it back. Return: whether it was to be had. */
int tree_lock_try(void);

/* In a fork's child: nobody holds the table's lock. */
void tree_fork(void);

/* The handlers, by area. */
#define TREE_SHOW(name) int name##_show(const struct tree_at *at, struct seq_buf *s)
#define TREE_STORE(name)                                                                           \
	int name##_store(const struct tree_at *at, const char *text, size_t n, int truncate)

TREE_SHOW(atrace_tags);
TREE_STORE(atrace_tags);
TREE_SHOW(available_events);
TREE_SHOW(available_tracers);
TREE_SHOW(buffer_percent);
TREE_STORE(buffer_percent);
TREE_SHOW(buffer_size_kb);
TREE_STORE(buffer_size_kb);
TREE_SHOW(buffer_subbuf_size_kb);
TREE_STORE(buffer_subbuf_size_kb);
TREE_SHOW(buffer_total_size_kb);
TREE_SHOW(current_tracer);
TREE_STORE(current_tracer);
TREE_SHOW(dyn_ftrace_total_info);
TREE_SHOW(dynamic_events);
TREE_STORE(dynamic_events);
TREE_SHOW(error_log);
TREE_STORE(error_log);
TREE_SHOW(eval_map);
TREE_SHOW(kprobe_events);
TREE_STORE(kprobe_events);
TREE_SHOW(kprobe_profile);
TREE_SHOW(uprobe_events);
TREE_STORE(uprobe_events);
TREE_SHOW(uprobe_profile);
TREE_STORE(free_buffer);
TREE_SHOW(function_profile_enabled);
TREE_STORE(function_profile_enabled);
TREE_SHOW(max_graph_depth);
TREE_STORE(max_graph_depth);
TREE_SHOW(option);
TREE_STORE(option);
TREE_SHOW(set_event_notrace_pid);
TREE_STORE(set_event_notrace_pid);
TREE_SHOW(set_event_pid);
TREE_STORE(set_event_pid);
TREE_SHOW(printk_formats);
TREE_SHOW(saved_cmdlines_size);
TREE_STORE(saved_cmdlines_size);
TREE_SHOW(set_event);
TREE_STORE(set_event);
TREE_STORE(set_ftrace_filter);
TREE_STORE(set_ftrace_notrace);
TREE_SHOW(set_ftrace_pid);
TREE_STORE(set_ftrace_pid);
TREE_SHOW(set_ftrace_notrace_pid);
TREE_STORE(set_ftrace_notrace_pid);
TREE_STORE(set_graph_function);
TREE_STORE(set_graph_notrace);
TREE_STORE(snapshot);
TREE_SHOW(synthetic_events);
TREE_STORE(synthetic_events);
TREE_STORE(trace);
TREE_STORE(trace_marker);
TREE_STORE(trace_marker_raw);
TREE_STORE(stack_max_size);
TREE_STORE(stack_trace_filter);
TREE_SHOW(stack_tracer_enabled);
TREE_STORE(stack_tracer_enabled);
TREE_SHOW(trace_clock);
TREE_STORE(trace_clock);
int trace_clock_set(struct trace_array *tr, const char *text, size_t n);
TREE_SHOW(trace_options);
TREE_STORE(trace_options);
TREE_SHOW(timestamp_mode);
TREE_SHOW(tracing_cpumask);
TREE_STORE(tracing_cpumask);
TREE_SHOW(tracing_max_latency);
TREE_STORE(tracing_max_latency);
TREE_SHOW(tracing_on);
TREE_STORE(tracing_on);
TREE_SHOW(tracing_thresh);
TREE_STORE(tracing_thresh);
TREE_SHOW(vestige_paused);
TREE_STORE(vestige_paused);
TREE_SHOW(vestige_status);

/* What handlers share: blanks and newlines around a word do not count. */
const char *tree_trim(const char *text, size_t *n);
int tree_word_is(const char *text, size_t n, const char *word);

/*
 * tree_number() - a number as the kernel's files take it: decimal, one newline behind it at most.
 * Return: 0; -EINVAL; -ERANGE.
 */
int tree_number(const char *text, size_t n, uint64_t *v);

/* tree_bool() - `0` or `1` and nothing else. Return: it or -EINVAL, -ERANGE. */
int tree_bool(const char *text, size_t n);

#endif
