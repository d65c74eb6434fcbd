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

/* What a page in a file leaves out, so that it is small. */
struct answer_cut {
	uint64_t calls;	   /* calls left out: those that are shorter than */
	uint64_t shortest; /* ns; 0: all calls are there */
	uint64_t events;   /* the last ones */
};

/*
 * The tracks, the names, and all else that does not depend on what is on the screen. @cut: NULL if
 * nothing was left out.
 */
void answer_info(const struct columns *c, struct out *o, const struct answer_cut *cut);

/*
 * answer_spans() - the blocks to draw for some rows.
 * @rows: @nr pairs of a track's number and a row's number; a pair that does not exist gives an
 * empty array.
 * @from, @to, @pixel: ns since the first; see span_row_query().
 * Gives one array for each row, with SPANS_WORDS numbers for each block: start, length, name,
 * number of spans, their time together, the number of the longest, and its extra.
 */
#define SPANS_WORDS 7u
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
 */
int answer_flame(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to);

/*
 * answer_function() - the calls of one function in all of the recording: {"calls", "total",
 * "p50", "p90", "p99" (percentiles of the time in ns), "buckets": the number of calls of at least
 * 2^i ns and less than 2^(i+1) (the first: 0 and 1 ns), "longest": at most 10 of [start, length,
 * track, row, number in it], the longest first}.
 * @name: its number. Return: 0 or -ENOMEM with fail() set.
 */
int answer_function(const struct columns *c, struct out *o, uint64_t name);

/*
 * answer_list() - @nr entries of the list (list.h) from number @at on.
 * Each: start, length, name, track, row, number in it (of an event its number), then of an event
 * its CPU, thread and text. Return: 0 or -ENOMEM with fail() set.
 */
int answer_list(const struct columns *c, struct out *o, uint64_t at, unsigned int nr);

/* The number of the first entry that begins at @ts (ns since the first) or later. Return: as above. */
int answer_number(const struct columns *c, struct out *o, uint64_t ts);

/*
 * answer_find() - {"at": number of the next entry behind @at whose name or text has @text in it,
 * "nr": how many entries have it, "before": how many of these are before that entry}. @backward:
 * the last one before @at. "at" is -1 where there is none.
 * Return: 0 or -ENOMEM with fail() set.
 */
int answer_find(const struct columns *c, struct out *o, const char *text, uint64_t at,
		bool backward);

#endif
