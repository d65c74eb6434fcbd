/* SPDX-License-Identifier: MIT */
/*
 * A target is a process or a session: commands work on it, and the mount shows it as a tree of
 * files. Commands and the mount do not depend on the kind of target: a kind is a table of
 * operations in a file of its own, and a row of target.c. Paths have no slash in front, "" is the
 * root. Any thread. Errors are -errno, with fail() set where a user may read it. Tests:
 * tests/cli/test_control.py, tests/tracefs/.
 */
#ifndef VESTIGE_TOOLS_TARGET_H
#define VESTIGE_TOOLS_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/reader/reader.h"
#include "tools/text/out.h"

struct counts;
struct target_ops;

struct target {
	const struct target_ops *ops;
	char name[64]; /* for target_get() */
};

/* A file that no folder lists: the target's functions in the form of /proc/kallsyms. */
#define TARGET_KALLSYMS ".kallsyms"

/* The object of a path, as it was at the lookup. */
struct target_file {
	bool is_dir;
	mode_t mode; /* permission bits */
	uid_t uid;
	unsigned int cpu; /* UINT32_MAX: none */
	char name[128];	  /* the last part of its path */
};

/* Which sub-buffers of trace_pipe_raw a reader takes. */
enum raw_how {
	/*
	 * Full ones, while a process records and buffer_percent is not 0. With several processes,
	 * the latest records are left, since earlier ones of another process may still come.
	 */
	RAW_FULL,
	RAW_PARTIAL, /* the same, but also a sub-buffer that is not full */
	RAW_ALL,     /* all records that there are now, also of members that are not known yet */
};

typedef int target_put_file(void *arg, const char *name, bool is_dir);

struct target_ops {
	/*
	 * Whether @name is a name of this kind. If it is for two kinds, the first of the table
	 * counts.
	 */
	bool (*has_name)(const char *name);

	/* get() - as target_get(). put() - release it. */
	struct target *(*get)(const char *name, const char *instance, int *err);
	void (*put)(struct target *t);

	/* Call @put with the name of each target of this kind; it returns non-zero to stop. */
	void (*list)(int (*put)(void *arg, const char *name), void *arg);

	/* As targets_serve(). NULL: nothing. */
	void (*serve)(bool on);

	/*
	 * A target whose files represent all: a session's member, else @t itself. Return: a
	 * reference, to be given back; NULL: there is none any more.
	 */
	struct target *(*first)(struct target *t);

	bool (*lives)(struct target *t); /* its files can be written */
	bool grows;			 /* processes may come when none lives now */

	/* find() - look up a path. files() - the names in a folder; @put: non-zero to stop. */
	int (*find)(struct target *t, const char *path, struct target_file *file);
	int (*files)(struct target *t, const char *dir, target_put_file *put, void *arg);

	/* print() - a file's contents. names() - the paths of all control files, one a line. */
	int (*print)(struct target *t, const char *path, struct out *o);
	int (*names)(struct target *t, struct out *o);

	/* A reader of all records, not consuming; closed with reader_close(). */
	int (*records)(struct target *t, struct reader **r);
	/*
	 * The same for the snapshot. -ENOENT: none was taken (no memory is allocated). NULL: as
	 * records().
	 */
	int (*snapshot)(struct target *t, struct reader **r);

	/* Add what the function profiler has counted (counts.h). NULL: there is none. */
	int (*counts)(struct target *t, struct counts *c);

	/* One write on behalf of thread @tid. @truncate: as `>`; false as `>>`. */
	int (*write)(struct target *t, const char *path, const char *text, size_t n, bool truncate,
		     int tid);

	/* Make and remove an instance. -EBUSY: files of it are open. */
	int (*mkdir)(struct target *t, const char *instance);
	int (*rmdir)(struct target *t, const char *instance);

	/* opened() - a file of it was opened (1), or closed (-1). */
	void (*opened)(struct target *t, int change);

	/*
	 * Pause recording while `trace` is open (@on), or resume it. Return: whether it is paused.
	 * NULL: never.
	 */
	bool (*pause)(struct target *t, bool on);

	/*
	 * trace_pipe of @cpu, UINT32_MAX: of all. Reading as pipe_read(). -EBUSY: it has a reader.
	 * Only one thread at a time may read.
	 */
	int (*pipe_open)(struct target *t, unsigned int cpu, void **pipe);
	ssize_t (*pipe_read)(void *pipe, char *buf, size_t bytes, bool nonblock,
			     int (*interrupted)(void));
	bool (*pipe_ready)(void *pipe);
	void (*pipe_close)(struct target *t, unsigned int cpu, void *pipe);

	/*
	 * trace_pipe_raw of @cpu. raw_open() - @bytes: of a sub-buffer, until raw_close().
	 * raw_page() - the next one. Return: 1; 0: there is none now; -errno with fail() set.
	 * raw_ready() - whether poll() reports it: filled to buffer_percent, or not empty
	 * when raw_lives() is false. raw_lives() - whether a process can still add records.
	 */
	int (*raw_open)(struct target *t, unsigned int cpu, void **raw, uint32_t *bytes);
	int (*raw_page)(void *raw, unsigned int cpu, void *page, enum raw_how how);
	bool (*raw_ready)(void *raw, unsigned int cpu);
	bool (*raw_lives)(void *raw);
	void (*raw_close)(struct target *t, unsigned int cpu, void *raw);
};

/*
 * target_get() - the target of that name.
 * @name: a PID, a session; NULL: the only traced process that lives. @instance: NULL; or the name
 * of an instance, which is like a target of its own.
 * Return: it, to be released with target_put(); NULL with *@err: -ESRCH, -ENOENT: there is none;
 * -EINVAL: @name is NULL and there are several.
 */
struct target *target_get(const char *name, const char *instance, int *err);
void target_put(struct target *t); /* NULL: nothing */

/*
 * target_kernel() - the kernel of this machine, or an @instance of it. target_get() and
 * target_list() do not give it. It has no records() and no raw_open().
 * Return: as target_get(), *@err with fail() set.
 */
struct target *target_kernel(const char *instance, int *err);

/* target_kernel_at() - the same for the folder @dir, which is a tracefs or a copy of one. */
struct target *target_kernel_at(const char *dir, int *err);

/* Call @put with the name of each target; it returns non-zero to stop. */
void target_list(int (*put)(void *arg, const char *name), void *arg);

/*
 * targets_serve() - true: from now on the caller serves many requests, so targets are cached for a
 * while after target_put(). False: that ends, and the files that we keep for running programs
 * (session_file.h) are removed.
 */
void targets_serve(bool on);

/*
 * target_write() - write on behalf of the calling thread. @text: @n bytes, and a NUL behind them.
 * @truncate: as `>`; false as `>>`. Return: 0 or -errno; -ENODEV: the process refuses the tracer,
 * with the reason in fail() if it is known.
 */
int target_write(struct target *t, const char *path, const char *text, size_t n, bool truncate);

/* The whole of a file, ended by NUL. */
struct target_text {
	char *at; /* malloced */
	size_t n; /* bytes, without the NUL */
};

/*
 * target_text_add() - a sink for out_init_sink(). @to: a struct target_text, zero at first. Return:
 * 0 or -ENOMEM.
 */
int target_text_add(void *to, const char *text, size_t bytes);

/*
 * target_read() - read a control file. @text: on success its `at` is to be freed.
 * Return: 0 or -errno with fail() set.
 */
int target_read(struct target *t, const char *path, struct target_text *text);

/*
 * target_kept() - read what a control file holds, so that it can be set to that again
 *
 * @each: called for @path with its text. If @path is buffer_size_kb and the CPUs' sizes differ, it
 * reads `X`, which cannot be set: then called for each CPU's own file. Not 0 ends the calls.
 * Return: 0, what @each returned, or -errno with fail() set.
 */
int target_kept(struct target *t, const char *path,
		int (*each)(void *arg, const char *path, const char *text), void *arg);

/*
 * target_first_line() - the first line of a control file, without its end.
 * @line: gets it, cut to @room bytes; "" if the file is empty.
 * Return: 0 or -errno with fail() set.
 */
int target_first_line(struct target *t, const char *path, char *line, size_t room);

/* Replace the contents by @text, as `echo TEXT > PATH`. Return: as target_write(). */
int target_set(struct target *t, const char *path, const char *text);

#endif
