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

enum tree_kind {
	TREE_ENGINE,
	TREE_RENDERED,
};

enum tree_scope {
	TREE_INSTANCE, /* each instance has one */
	TREE_GLOBAL,   /* the top one alone */
	TREE_CPU,      /* per_cpu/cpuN/ of each instance */
};

struct tree_row {
	const char *path;
	uint16_t mode; /* as the kernel's: 0444, 0640 ... */
	uint8_t kind;  /* enum tree_kind */
	uint8_t scope; /* enum tree_scope */
	/* Put the file's text into @s. NULL: not readable. */
	int (*show)(struct seq_buf *s);
	/*
	 * Take one write.
	 * @truncate: the file was opened with O_TRUNC.
	 * Return: 0 or -errno.
	 */
	int (*store)(const char *text, size_t n, int truncate);
};

extern const struct tree_row tree_rows[];
extern const uint32_t tree_nr_rows;

/* The row of that path, or NULL. */
const struct tree_row *tree_find(const char *path);

/* Return: bytes of text in @s; -ENOENT, -EACCES, -EOPNOTSUPP (a rendered row), -EFBIG. */
long tree_read(const char *path, struct seq_buf *s);

/* Return: 0; -ENOENT, -EACCES, -EOPNOTSUPP, or what the row says. */
int tree_write(const char *path, const char *text, size_t n, int truncate);

/* For what changes the same state from elsewhere: the loader's notification. */
void tree_lock_take(void);
void tree_lock_release(void);

/* In a fork's child: nobody holds the table's lock. */
void tree_fork(void);

/* The handlers, by area. */
int available_tracers_show(struct seq_buf *s);
int current_tracer_show(struct seq_buf *s);
int current_tracer_store(const char *text, size_t n, int truncate);
int tracing_on_show(struct seq_buf *s);
int tracing_on_store(const char *text, size_t n, int truncate);
int buffer_size_kb_show(struct seq_buf *s);
int buffer_total_size_kb_show(struct seq_buf *s);
int trace_clock_show(struct seq_buf *s);
int trace_clock_store(const char *text, size_t n, int truncate);
int trace_options_show(struct seq_buf *s);
int trace_options_store(const char *text, size_t n, int truncate);
int vestige_status_show(struct seq_buf *s);
int set_ftrace_filter_store(const char *text, size_t n, int truncate);
int set_ftrace_notrace_store(const char *text, size_t n, int truncate);
int dyn_ftrace_total_info_show(struct seq_buf *s);

#endif
