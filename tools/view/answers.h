/* SPDX-License-Identifier: MIT */
/*
 * Answers to the page's requests, as JSON. Times are ns since the recording's first one: a number
 * of JavaScript holds 104 days of them exactly. Only `first` is a time of the trace's clock, as
 * text. The same shapes are in tools/view/web/src/source.ts.
 */
#ifndef VESTIGE_TOOLS_ANSWERS_H
#define VESTIGE_TOOLS_ANSWERS_H

#include "tools/text/out.h"
#include "tools/view/columns.h"
#include "tools/view/match.h"

/* Parts that a page in a file leaves out, so that it is small. */
struct answer_cut {
	uint64_t calls;	   /* number of calls left out */
	uint64_t shortest; /* ns; shorter calls are left out; 0: all calls are there */
	uint64_t events;   /* number of events left out: the last ones */
};

struct answer_about {
	struct answer_cut cut; /* 0: everything is there */
	bool live;	       /* the recording goes on and is read again */
	bool session;	       /* the server has a file for the page's session */
};

/* The tracks, the names, and all else that does not depend on what is on the screen. */
void answer_info(const struct columns *c, struct out *o, const struct answer_about *about);

/*
 * answer_spans() - the blocks to draw for some rows.
 * @rows: @nr pairs of a track's number and a row's number; a pair that does not exist gives an
 * empty array.
 * @from, @to, @pixel: ns since the first; see span_row_query().
 * Gives one array for each row, with seven numbers for each block: start, length, name,
 * number of spans, their time together, the number of the longest, and its extra.
 */
void answer_spans(const struct columns *c, struct out *o, const uint32_t (*rows)[2], size_t nr,
		  uint64_t from, uint64_t to, uint64_t pixel);

/*
 * answer_table() - the functions called in a range, with their times. A call that reaches over an
 * end of the range counts with its part in the range.
 * @tracks: @nr numbers of tracks; @nr 0: all tracks. @from, @to: ns since the first. Rows: name,
 * calls, total (a call beneath another call of the same function counts once), self, shortest,
 * longest. Return: 0 or -ENOMEM with fail() set.
 */
int answer_table(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to);

/*
 * answer_flame() - the same, for each path of callers. Rows, from 1 on: the row of the caller (0:
 * none), name, calls, total, self.
 * @off_cpu: count only time in which their threads did not run; threads whose states are not known
 * are left out.
 */
int answer_flame(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to, bool off_cpu);

/*
 * answer_function() - the calls of one function that begin in a range: {"calls", "total",
 * "p50", "p90", "p99" (percentiles of the time in ns), "buckets": the number of calls of at least
 * 2^i ns and less than 2^(i+1) (the first: 0 and 1 ns), "longest": at most 10 of [start, length,
 * track, row, number in it], the longest first}.
 * @name: its number. Return: 0 or -ENOMEM with fail() set.
 */
int answer_function(const struct columns *c, struct out *o, uint64_t name, uint64_t from,
		    uint64_t to);

/*
 * answer_list() - @nr entries of the list (list.h) from number @at on.
 * Each entry: start, length, name, track, row, number in the row (of an event: its number), CPU (-1
 * unknown); of an event also its latency flags and its text. Return: 0 or -ENOMEM with fail() set.
 */
int answer_list(const struct columns *c, struct out *o, uint64_t at, unsigned int nr);

/*
 * The number of the first entry that begins at @ts (ns since the first) or later. Return: as above.
 */
int answer_number(const struct columns *c, struct out *o, uint64_t ts);

/*
 * answer_find() - the entries from number @from to @to - 1 that meet a condition: how many, and the
 * numbers of the first and the last one, -1 if there is none.
 * @m: of @c. Return: 0 or -ENOMEM with fail() set.
 */
int answer_find(const struct columns *c, struct out *o, const struct match *m, uint64_t from,
		uint64_t to);

#endif
