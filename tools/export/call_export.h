/* SPDX-License-Identifier: MIT */
/*
 * Code that the formats of calls share: the output file, the loop that makes calls or a tree of
 * calls from records, and the names. A format is one source file with two or three functions, and a
 * row in exporter.c.
 *
 * Names are written as the view shows them (--demangle). Times are nanoseconds of the trace's
 * clock, or the clock's units if it does not count nanoseconds.
 */
#ifndef VESTIGE_TOOLS_CALL_EXPORT_H
#define VESTIGE_TOOLS_CALL_EXPORT_H

#include "tools/analysis/call_tree.h"
#include "tools/analysis/stack_homes.h"
#include "tools/base/hash_index.h"
#include "tools/export/dat_file.h"
#include "tools/export/exporter.h"
#include "tools/text/out.h"
#include "tools/text/view.h"

struct call_format;

struct call_export {
	struct view *v;
	struct out o;
	void *own;		  /* the format's data */
	uint64_t nr;		  /* calls and other records written */
	const struct record *rec; /* the current record; NULL: open calls are closed at the end */
	int err;		  /* not 0: stop; fail() is set, or o.err is the reason */
	bool to_stdout;
	struct dat_file file;
	/* of call_export_each() */
	const struct call_format *format;
	const struct export_options *opt;
	const char *path;
	char *part_path; /* path of the current file, if there are several; else NULL */
	unsigned int nr_parts;
	struct stack_homes homes;
	/* The stacks that are no thread's own, of all processes, and their numbers. */
	struct export_stack {
		uint32_t process, stack, number;
	} * stacks;
	size_t nr_stacks, room_stacks;
	struct hash_index by_stack, by_number;
	uint32_t last_number; /* the greatest */
};

/* The functions of a format that writes calls one by one, with little memory. Each may be NULL. */
struct call_format {
	size_t own_bytes; /* size of x->own, which is zero at first */
	/* Return: 0 or -errno with fail() set. */
	int (*begin)(struct call_export *x);
	/*
	 * A call begins that the view shows. Its length is not known yet: it may turn out to be too
	 * short to be shown. @fn: borrowed.
	 */
	void (*enter)(struct call_export *x, const struct call *call,
		      const struct call_function *fn);
	/*
	 * A call ends that the view shows. The calls beneath it were reported before.
	 * @parent: the call around it; NULL: none is known. @fn: borrowed.
	 */
	void (*call)(struct call_export *x, const struct call *call, const struct call *parent,
		     const struct call_function *fn);
	/* A RECORD_EVENT, RECORD_PRINT or RECORD_FUNCTION that the view shows, in order of time. */
	void (*other)(struct call_export *x, const struct record *rec);
	/*
	 * end() - write the end of the file; not called after an error. free() - free the data that
	 * begin() and later functions made; called last, also after an error.
	 */
	void (*end)(struct call_export *x);
	void (*free)(struct call_export *x);
};

/*
 * call_export_each() - write the calls and records of opt->view to @path, call by call.
 * @path: "-" is stdout. Return: 0 or -errno with fail() set: ENODATA: the view shows nothing.
 */
int call_export_each(const char *path, const struct export_options *opt,
		     const struct call_format *format);

/*
 * call_export_tree() - write the tree of calls of opt->view to @path. The tree is by thread; the
 * children of a node are ordered by total time, the longest first. Memory: the whole tree.
 * @path: "-" is stdout. @put: writes the whole file to x->o; sets x->err if that fails.
 * Return: 0 or -errno with fail() set: EINVAL: the recording has no calls with entry and exit;
 * ENODATA: the view shows nothing.
 */
int call_export_tree(const char *path, const struct export_options *opt,
		     void (*put)(struct call_export *x, const struct call_tree *t));

/* The name of the buffer that a call or another record is in; "": the top one. Borrowed. */
const char *call_export_buffer(const struct call_export *x, const struct call *call);
const char *call_export_record_buffer(const struct call_export *x, const struct record *rec);

/* The function's name; if it has none, its address as 0x..., written to @buf. Borrowed. */
#define CALL_NAME_BYTES 24
const char *call_export_name(const struct call_function *fn, char buf[CALL_NAME_BYTES]);
/*
 * The name of a function's object; for the program's own object, the name of the first traced
 * process. Borrowed.
 */
const char *call_export_object(const struct view *v, const struct call_function *fn);

/*
 * call_export_track() - the track on which a viewer draws a call. The calls of one track nest. A
 * thread has a track, and so has each other stack on which it ran (of a coroutine, of a signal
 * handler). A thread's own stack is the stack of its first call. Only with call_export_each().
 * Return: the track's number, which no other track of the recording has: the thread's id, or 2^31 +
 * the number of the stack; if a stack of another process has that number, + a greater one.
 */
uint64_t call_export_track(struct call_export *x, const struct call *call);

#endif
