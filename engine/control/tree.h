/* SPDX-License-Identifier: MIT */
/*
 * The tracefs of this process: one table of files, whose rows are registered by the files_*.c that
 * answer them. A read is answered by the engine, or rendered by the tools from the area (inside the
 * process it then fails with EOPNOTSUPP); writes always go to the engine. Callers are the
 * environment, which replays writes at start, vestige_read() and vestige_write() inside the
 * process, and the agent for requests from outside. One call at a time: the table has a lock.
 */
#ifndef VESTIGE_CONTROL_TREE_H
#define VESTIGE_CONTROL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/registry.h"
#include "engine/base/seq_buf.h"
#include "engine/core/tree_lock.h"

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

/* The rest of a path, beyond its row. */
struct tree_at {
	struct trace_array *tr; /* whose file it is */
	uint32_t cpu;		/* TREE_CPU: N; else UINT32_MAX: all of them */
	uint32_t option;	/* TREE_OPTION: enum area_option */
	uint32_t mirrored;	/* the text is for the area, where it must be short */
	void *object;		/* TREE_BRANCH: the object that the names in the path mean */
	/* A write's: a thread elsewhere that writes; NULL: the calling thread does. */
	const struct agent_writer *writer;
};

/* The type of the number that a row's set() gets. */
enum tree_type {
	TREE_NUMBER, /* decimal, one newline behind it at most; else -EINVAL, -ERANGE */
	TREE_SWITCH, /* a number; all but 0 are 1 */
	TREE_BOOL,   /* 0 or 1 */
};

/* Designated initialisers: what is not named is 0. */
struct tree_row {
	const char *path;
	uint16_t mode;	    /* as the kernel's: 0444, 0640 ... */
	uint8_t kind;	    /* enum tree_kind */
	uint8_t scope;	    /* enum tree_scope */
	uint8_t type;	    /* enum tree_type */
	uint8_t unmirrored; /* its text is not in the area: a table of its own is, or it is long */
	const char *help;   /* for README; NULL: no line there */
	/* A read: put the file's text into @s; or its number. Both NULL: not readable. */
	int (*show)(const struct tree_at *at, struct seq_buf *s);
	uint64_t (*get)(const struct tree_at *at);
	/*
	 * A write: the number, as `type` says; or the text without blanks around it; or the text as
	 * it is. All NULL: not writable. @truncate: the file was opened with O_TRUNC.
	 * Return: 0 or -errno.
	 */
	int (*set)(const struct tree_at *at, uint64_t v);
	int (*word)(const struct tree_at *at, const char *text, size_t n);
	int (*store)(const struct tree_at *at, const char *text, size_t n, int truncate);
};

/*
 * The rows of one files_*.c, in the order in which they are listed. The order of the files means
 * nothing.
 */
struct tree_files {
	const struct tree_row *rows;
	uint32_t nr;
};
REGISTRY(vestige_files, const struct tree_files);
#define TREE_FILES(rows)                                                                           \
	static const struct tree_files rows##_files = {rows, sizeof(rows) / sizeof((rows)[0])};    \
	REGISTRY_ADD(vestige_files, rows##_files)

/* The row behind @row, the first one behind NULL; NULL: there is no more. */
const struct tree_row *tree_row_next(const struct tree_row *row);
#define TREE_EACH_ROW(row) for (row = tree_row_next(NULL); row; row = tree_row_next(row))

static inline int tree_row_reads(const struct tree_row *row)
{
	return row->show || row->get;
}

/* The text of a row that reads. Return: 0 or -errno. */
int tree_row_show(const struct tree_row *row, const struct tree_at *at, struct seq_buf *s);

/* For each name in a folder; @row: of a file, NULL: it is a folder. */
typedef void tree_emit(void *arg, const char *name, const struct tree_row *row);

/*
 * A folder whose files come and go (events/). The tree knows its name alone; both are called under
 * the tree's lock.
 */
struct tree_branch {
	const char *name;
	/* The row of @rest, the path beneath the folder, and at->object; NULL: there is no such
	 * file. */
	const struct tree_row *(*find)(const char *rest, struct tree_at *at);
	/*
	 * Call for each name in the folder @rest beneath it; "" is the folder itself. Return: 0 or
	 * -ENOENT.
	 */
	int (*list)(const char *rest, tree_emit *emit, void *arg);
	uint8_t scope; /* TREE_INSTANCE or TREE_GLOBAL */
	/* For readers that cannot ask: text in the folder's own form. NULL: none. */
	void (*left)(const struct trace_array *tr, struct seq_buf *s);
};

REGISTRY(vestige_branches, const struct tree_branch);
#define TREE_BRANCH_REGISTER(self) REGISTRY_ADD(vestige_branches, self)

/* Return: bytes of text in @s; -ENOENT, -EACCES, -EOPNOTSUPP (a rendered row), -EFBIG. */
long tree_read(const char *path, struct seq_buf *s);

/* Return: 0; -ENOENT, -EACCES, -EOPNOTSUPP, or what the row says. */
int tree_write(const char *path, const char *text, size_t n, int truncate);

/* The same under the tree's lock, which the caller has. */
int tree_write_locked(const char *path, const char *text, size_t n, int truncate);

/* The same on behalf of a thread elsewhere. */
int tree_write_as(const char *path, const char *text, size_t n, int truncate,
		  const struct agent_writer *writer);

/*
 * tree_list() - a folder of the tree as AGENT_LIST has it (abi/agent.h). @dir: "" is the root.
 * Return: bytes of text in @s; -ENOENT, -EFBIG.
 */
long tree_list(const char *dir, struct seq_buf *s);

/* Write the tree's current state into the instance's area. Under the tree lock, or while no other
 * thread runs. */
void tree_mirror(struct trace_array *tr);

/* Whether the instance has the folder. */
int tree_has_branch(const struct trace_array *tr, const struct tree_branch *b);

/* Whether instances lack the option, because it is about state that all of them share. */
int tree_option_is_global(int option);

/*
 * tree_mkdir(), tree_rmdir() - make or remove the instance `instances/NAME`.
 * Return: 0; -EPERM: the path is none of an instance; -ENOENT, -EEXIST and what
 * trace_array_create() says.
 */
int tree_mkdir(const char *path);
int tree_rmdir(const char *path);

/* What handlers share. */
int tree_word_is(const char *text, size_t n, const char *word);

/*
 * tree_number() - a number as the kernel's files take it: decimal, one newline behind it at most.
 * Return: 0; -EINVAL; -ERANGE.
 */
int tree_number(const char *text, size_t n, uint64_t *v);

#endif
