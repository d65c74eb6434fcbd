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
	bool local_plugins;		 /* -L: without the system's plug-ins */
	bool tail;			 /* -O tailprint: the function's name at its end, too */
	bool depth;			 /* -O depth: the depth of each call, too */
	bool plugin_options;		 /* there are -O for plug-ins */
	const char *const *raw_events;	 /* -r: patterns; NULL behind the last one. NULL: none */
	const char *const *plain_events; /* -n */
};

struct line;

/*
 * line_new() - a printer for records of @d, which must have been opened with as_is
 * (reader/formats.h). It parses the formats. @d and @opt are borrowed. @out: freed with
 * line_free().
 * Return: 0 or -errno with fail() set.
 */
int line_new(struct dat_reader *d, const struct line_options *opt, struct line **out);
void line_free(struct line *l);

/* The handle of libtraceevent, with all formats of the file, for printing and filters. */
struct tep_handle *line_tep(struct line *l);

/*
 * The record for libtraceevent; its data are copied, with zeros behind. Borrowed until the next
 * call.
 */
struct tep_record *line_tep_record(struct line *l, const struct record *rec);

/* Whether @rec is the entry of a call. */
bool line_begins_call(struct line *l, const struct record *rec);

/* Whether @rec is the stack of the record before it. */
bool line_is_stack(struct line *l, const struct record *rec);

/* Whether all fields lie inside the record, so that libtraceevent may read them. */
bool line_fits(struct line *l, const struct record *rec);

/* Print `comm-pid [cpu]`, with -l the flags, then the time @ts. @in_ns: the clock counts ns. */
void line_head(struct line *l, struct out *o, const struct record *rec, uint64_t ts, bool in_ns);

/*
 * line_body() - ` event: text`, without a newline.
 * @next: if line_begins_call(), the next record of its buffer, of any CPU; NULL: there is none.
 * Return: whether @next is on the same line, because it ends the call that @rec begins.
 */
bool line_body(struct line *l, struct out *o, const struct record *rec, const struct record *next);

/* The number of @bytes at @at in a record, in the byte order of the file. */
uint64_t line_number(const struct line *l, const void *at, unsigned int bytes);

#endif
