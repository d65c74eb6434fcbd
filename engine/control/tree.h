/* SPDX-License-Identifier: MIT */
/*
 * The tracefs of this process: one table of files, whose rows are registered by the files_*.c that
 * answer them. The engine answers a read, or the tools render it from the area (then a read inside
 * the process fails with EOPNOTSUPP). Writes always go to the engine. Callers are VESTIGE_BOOT,
 * which writes files at the start, vestige_read() and vestige_write() inside the process, and the
 * agent for requests of the tools. One call at a time: the table has a lock, the tree lock.
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
	TREE_INSTANCE, /* each instance has the file */
	TREE_GLOBAL,   /* only the top instance has it */
	TREE_CPU,      /* per_cpu/cpuN/ of each instance */
	TREE_OPTION,   /* options/NAME: one for each option */
	TREE_BRANCH,   /* in a folder whose files come and go: struct tree_branch */
};

/* What a path names beside its row. */
struct tree_at {
	struct trace_array *tr; /* the instance */
	uint32_t cpu;		/* TREE_CPU: N; else UINT32_MAX: all of them */
	uint32_t option;	/* TREE_OPTION: enum area_option */
	uint32_t mirrored;	/* the text is for the area, so it must be short */
	void *object;		/* TREE_BRANCH: the object that the names in the path mean */
	/* A write for a thread of another process; NULL: the calling thread writes. */
	const struct agent_writer *writer;
};

/* The type of the number that a row's set() gets. */
enum tree_type {
	TREE_NUMBER, /* decimal, with one newline behind it at most; else -EINVAL or -ERANGE */
	TREE_SWITCH, /* a number; all but 0 count as 1 */
	TREE_BOOL,   /* 0 or 1 */
};

/* What a NUL in a write means, as in the kernel. */
enum tree_nul {
	TREE_NUL_ENDS,	  /* the text ends there: C programs write strings with their NUL */
	TREE_NUL_DIVIDES, /* a list of words, which it divides as a blank does */
	TREE_NUL_STAYS,	  /* a byte as the others */
};

/* A control file. Rows use designated initialisers, so fields that are not named are 0. */
struct tree_row {
	const char *path;
	uint16_t mode;	    /* as the kernel's: 0444, 0640 ... */
	uint8_t kind;	    /* enum tree_kind */
	uint8_t scope;	    /* enum tree_scope */
	uint8_t type;	    /* enum tree_type */
	uint8_t nul;	    /* enum tree_nul */
	uint8_t unmirrored; /* not copied into the area: has a table of its own there, or is long */
	const char *help;   /* for README; NULL: no line there */
	/* A read: put the file's text into @s, or get its number. Both NULL: not readable. */
	int (*show)(const struct tree_at *at, struct seq_buf *s);
	uint64_t (*get)(const struct tree_at *at);
	/*
	 * A write. set: gets a number, as `type` says. The others get text: without the blanks
	 * around it, or as it is. All NULL: not writable. @truncate: the file was opened with
	 * O_TRUNC. Return: 0 or -errno.
	 */
	int (*set)(const struct tree_at *at, uint64_t v);
	int (*word)(const struct tree_at *at, const char *text, size_t n);
	int (*store)(const struct tree_at *at, const char *text, size_t n, int truncate);
};

/*
 * The rows of one files_*.c, in the order in which they are listed. The order of the files_*.c does
 * not matter.
 */
struct tree_files {
	const struct tree_row *rows;
	uint32_t nr;
};
REGISTRY(vestige_files, const struct tree_files);
#define TREE_FILES(rows)                                                                           \
	static const struct tree_files rows##_files = {rows, sizeof(rows) / sizeof((rows)[0])};    \
	REGISTRY_ADD(vestige_files, rows##_files)

/* The row after @row; NULL: the first one. Returns NULL behind the last. */
const struct tree_row *tree_row_next(const struct tree_row *row);
#define TREE_EACH_ROW(row) for (row = tree_row_next(NULL); row; row = tree_row_next(row))

static inline int tree_row_reads(const struct tree_row *row)
{
	return row->show || row->get;
}

/* Put the text of a readable row into @s. Return: 0 or -errno. */
int tree_row_show(const struct tree_row *row, const struct tree_at *at, struct seq_buf *s);

/* Called for each name in a folder; @row: the file's; NULL: it is a folder. */
typedef void tree_emit(void *arg, const char *name, const struct tree_row *row);

/*
 * A folder whose files come and go (events/). The tree knows the folder's name alone. Both
 * functions are called under the tree lock.
 */
struct tree_branch {
	const char *name;
	/*
	 * Find the row of @rest, the path below the folder, and set at->object; NULL: there is no
	 * such file.
	 */
	const struct tree_row *(*find)(const char *rest, struct tree_at *at);
	/*
	 * Call @emit for each name in the folder @rest below it; "" is the folder itself. Return: 0
	 * or -ENOENT.
	 */
	int (*list)(const char *rest, tree_emit *emit, void *arg);
	uint8_t scope; /* TREE_INSTANCE or TREE_GLOBAL */
	/*
	 * Put the folder's state as text in its own form, for readers that cannot ask the process.
	 * NULL: none.
	 */
	void (*left)(const struct trace_array *tr, struct seq_buf *s);
};

REGISTRY(vestige_branches, const struct tree_branch);
#define TREE_BRANCH_REGISTER(self) REGISTRY_ADD(vestige_branches, self)

/*
 * Read a file. Return: bytes of text in @s; -ENOENT, -EACCES, -EOPNOTSUPP (the tools render it),
 * -EFBIG.
 */
long tree_read(const char *path, struct seq_buf *s);

/* Write a file. Return: 0; -ENOENT, -EACCES, -EOPNOTSUPP, or an error of the row's handler. */
int tree_write(const char *path, const char *text, size_t n, int truncate);

/* As tree_write(); the caller holds the tree lock. */
int tree_write_locked(const char *path, const char *text, size_t n, int truncate);

/* As tree_write(), for a thread of another process. */
int tree_write_as(const char *path, const char *text, size_t n, int truncate,
		  const struct agent_writer *writer);

/*
 * tree_list() - list a folder in the form of AGENT_LIST (abi/agent.h). @dir: "" is the root.
 * Return: bytes of text in @s; -ENOENT, -EFBIG.
 */
long tree_list(const char *dir, struct seq_buf *s);

/*
 * Write the tree's state as text into the instance's area. Under the tree lock, or while no other
 * thread runs.
 */
void tree_mirror(struct trace_array *tr);

/* Whether this instance has the folder. */
int tree_has_branch(const struct trace_array *tr, const struct tree_branch *b);

/*
 * Whether only the top instance has the option, because it changes state that all instances share.
 */
int tree_option_is_global(int option);

/*
 * tree_mkdir(), tree_rmdir() - make or remove the instance `instances/NAME`. Return: 0; -EPERM: it
 * is no path of an instance; -ENOENT, -EEXIST and errors of trace_array_create().
 */
int tree_mkdir(const char *path);
int tree_rmdir(const char *path);

/* Helpers of handlers: whether the text is exactly @word. */
int tree_word_is(const char *text, size_t n, const char *word);

/*
 * tree_number() - read a number as the kernel's files do: decimal, with one newline behind it at
 * most. Return: 0; -EINVAL; -ERANGE.
 */
int tree_number(const char *text, size_t n, uint64_t *v);

#endif
