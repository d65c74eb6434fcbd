/* SPDX-License-Identifier: MIT */
/*
 * Shared by the formats of calls: the file, the loop from records to calls or to their tree, and
 * the names. A format is one file with two or three functions, and a row in exporter.c.
 *
 * Names are written as the view shows them (--demangle). Times are nanoseconds of the trace's
 * clock, or the clock's units if it does not count nanoseconds.
 */
#ifndef VESTIGE_TOOLS_CALL_EXPORT_H
#define VESTIGE_TOOLS_CALL_EXPORT_H

#include "tools/analysis/call_tree.h"
#include "tools/analysis/stack_homes.h"
#include "tools/export/dat_file.h"
#include "tools/export/exporter.h"
#include "tools/text/out.h"
#include "tools/text/view.h"

struct call_format;

struct call_export {
	struct view *v;
	struct out o;
	void *own;		  /* of the format */
	uint64_t nr;		  /* calls and other records written */
	const struct record *rec; /* the current record; NULL: open calls are closed at the end */
	int err;		  /* not 0: stop; fail() is set, or o.err is the reason */
	bool to_stdout;
	struct dat_file file;
	/* of call_export_each() */
	const struct call_format *format;
	const struct export_options *opt;
	const char *path;
	char *part_path; /* of the current file, if there are several; else NULL */
	unsigned int nr_parts;
	struct stack_homes homes;
};

/* The functions of a format that writes calls one by one, with little memory. Each may be NULL. */
struct call_format {
	size_t own_bytes; /* of ->own, zeros at first */
	/* Return: 0 or -errno with fail() set. */
	int (*begin)(struct call_export *x);
	/* The begin of a call that the view shows, as far as that is known without its length. */
	void (*enter)(struct call_export *x, const struct call *call,
		      const struct call_function *fn);
	/*
	 * A call that the view shows, when it ends: the calls beneath it came before. @fn:
	 * borrowed.
	 * @parent: the call around it, NULL none known.
	 */
	void (*call)(struct call_export *x, const struct call *call, const struct call *parent,
		     const struct call_function *fn);
	/* A RECORD_EVENT, RECORD_PRINT or RECORD_FUNCTION that the view shows, in order of time. */
	void (*other)(struct call_export *x, const struct record *rec);
	/* The end of the file; then free() frees what begin() made, also after an error. */
	void (*end)(struct call_export *x);
	void (*free)(struct call_export *x);
};

/*
 * call_export_each() - write @path of the calls and records of opt->view.
 * @path: "-" is stdout. Return: 0 or -errno with fail() set.
 */
int call_export_each(const char *path, const struct export_options *opt,
		     const struct call_format *format);

/*
 * call_export_tree() - write @path of the tree of calls, by thread, the children of a node in the
 * order of their time. Memory: the tree's.
 * @put: writes it all to x->o; x->err if that fails.
 * Return: 0 or -errno with fail() set: EINVAL where the recording has no calls with entry and exit.
 */
int call_export_tree(const char *path, const struct export_options *opt,
		     void (*put)(struct call_export *x, const struct call_tree *t));

/* The name of the buffer of a call or of another record, "" the top one. Borrowed. */
const char *call_export_buffer(const struct call_export *x, const struct call *call);
const char *call_export_record_buffer(const struct call_export *x, const struct record *rec);

/* The function's name, or its address as 0x...: @buf holds that. */
#define CALL_NAME_BYTES 24
const char *call_export_name(const struct call_function *fn, char buf[CALL_NAME_BYTES]);
/*
 * The object of a function; for the program itself the name of the first traced process. Borrowed.
 */
const char *call_export_object(const struct view *v, const struct call_function *fn);

/*
 * call_export_track() - the track of a call in a picture. Calls of one track nest. A thread and
 * each other stack that it ran on (a coroutine's, a signal handler's) have tracks of their own; a
 * thread's own stack is the one of its first call. Only with call_export_each().
 * Return: its number in the process: the thread's id, or above INT32_MAX a stack's number.
 */
uint64_t call_export_track(const struct call_export *x, const struct call *call);

#endif
