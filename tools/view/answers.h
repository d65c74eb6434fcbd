/* SPDX-License-Identifier: MIT */
/*
 * What the page asks of a recording's columns, as JSON. Times are ns since the recording's first
 * one, so that a page's numbers hold them exactly for 104 days; `first` alone, a text, is the
 * trace's clock. The same shapes are in tools/view/web/src/source.ts.
 */
#ifndef VESTIGE_TOOLS_ANSWERS_H
#define VESTIGE_TOOLS_ANSWERS_H

#include "tools/text/out.h"
#include "tools/view/columns.h"

/* What a page does not have, that is to be small. */
struct answer_cut {
	uint64_t calls;	   /* so many, which are shorter than: */
	uint64_t shortest; /* ns; 0: all calls are there */
	uint64_t events;   /* the last ones */
};

/* Tracks, names and what else is said once. @cut: NULL: everything is there. */
void answer_info(const struct columns *c, struct out *o, const struct answer_cut *cut);

/*
 * answer_spans() - what is to be seen of some rows.
 * @rows: pairs of a track's number and a row's, @nr of them; those that are not there are empty.
 * @from, @to, @pixel: ns since the first; see span_row_query().
 * For each row an array of SPANS_WORDS numbers a block: start, length, name, how many spans, their
 * time, which is the longest, what is extra to that.
 */
#define SPANS_WORDS 7u
void answer_spans(const struct columns *c, struct out *o, const uint32_t (*rows)[2], size_t nr,
		  uint64_t from, uint64_t to, uint64_t pixel);

/*
 * answer_table() - functions of the calls that lie in a range, with their times: calls that are
 * open at its ends count with what of them lies in it.
 * @tracks: which (numbers), @nr of them; 0: all. @from, @to: ns since the first.
 * Rows: name, calls, total (what is called again beneath itself counts once), self, shortest,
 * longest. Return: 0 or -ENOMEM with fail() set.
 */
int answer_table(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to);

/*
 * answer_flame() - the same by where they were called from.
 * Rows, from 1 on: the row of the caller (0: none), name, calls, total, self.
 */
int answer_flame(const struct columns *c, struct out *o, const uint32_t *tracks, size_t nr,
		 uint64_t from, uint64_t to);

/*
 * answer_function() - the calls of one function in all of the recording: {"calls", "total",
 * "p50", "p90", "p99" (the shortest time that so many per cent do not exceed), "buckets": how many
 * took at least 2^i ns and less than 2^(i+1) (the first: 0 and 1 ns), "longest": at most 10 of
 * [start, length, track, row, number in it], the longest first}.
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
 * "nr": how many there are, "before": how many of them are before it}. @backward: the last one
 * before @at. "at" is -1 where there is none.
 * Return: 0 or -ENOMEM with fail() set.
 */
int answer_find(const struct columns *c, struct out *o, const char *text, uint64_t at,
		bool backward);

#endif
