/* SPDX-License-Identifier: MIT */
/* A record of a trace.dat as a line of `trace-cmd report`. */
#ifndef VESTIGE_TOOLS_REPORT_LINE_H
#define VESTIGE_TOOLS_REPORT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/dat/dat_pieces.h"
#include "tools/text/out.h"

struct line_options {
	bool nanoseconds;		 /* -t */
	bool latency;			 /* -l: flags and preemption's depth */
	bool raw;			 /* -R: the fields, not the format's text */
	bool no_plugins;		 /* -N */
	bool local_plugins;		 /* -L: not those of the system */
	bool tail;			 /* -O tailprint: the function's name at its end, too */
	bool depth;			 /* -O depth: each call's, too */
	bool plugin_options;		 /* some of -O are plug-ins' */
	const char *const *raw_events;	 /* -r: patterns; NULL behind the last one. NULL: none */
	const char *const *plain_events; /* -n */
};

struct line;

/*
 * line_new() - prints records of @d, which must have been opened as it is. Formats are parsed by
 * this. @d and @opt are borrowed. Return: 0 or -errno with fail() set.
 */
int line_new(struct dat_reader *d, const struct line_options *opt, struct line **out);
void line_free(struct line *l);

/* What libtraceevent prints and filters by: all formats of the file are in it. */
struct tep_handle *line_tep(struct line *l);

/* The record as libtraceevent wants it; its data are copied, with zeros behind. Borrowed until the next call. */
struct tep_record *line_tep_record(struct line *l, const struct record *rec);

/* Whether it is the entry of a call. */
bool line_begins_call(struct line *l, const struct record *rec);

/* Whether it is a stack of the record before it. */
bool line_is_stack(struct line *l, const struct record *rec);

/* Whether libtraceevent may look at its fields: all of them lie inside. */
bool line_fits(struct line *l, const struct record *rec);

/* `comm-pid [cpu]`, with -l its flags; then the time as @ts of a clock that counts @in_ns. */
void line_head(struct line *l, struct out *o, const struct record *rec, uint64_t ts, bool in_ns);

/*
 * line_body() - ` event: text`, without a newline.
 * @next: where line_begins_call(), the next record of its buffer, of whatever CPU; NULL: there is
 * none. Return: whether that belongs to the line: it is the end of the call which this begins.
 */
bool line_body(struct line *l, struct out *o, const struct record *rec, const struct record *next);

/* A number of a record: of the @bytes at @at. */
uint64_t line_number(const struct line *l, const void *at, unsigned int bytes);

#endif
