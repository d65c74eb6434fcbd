/* SPDX-License-Identifier: MIT */
/*
 * Conditions on what a recording has: the filters of the graph and of the list, and the search.
 *
 * The page sends a condition in reverse Polish notation, a line a step: `COLUMN OPERATOR VALUE`, or
 * `and`, `or`, `not`. Columns: event, info, task, pid, cpu, time
 * (ns since the first), latency, length (ns), depth, and `.NAME`, the value in info
 * behind `NAME=` or `NAME:`. Operators: eq, ne, lt, le, gt, ge; has and lacks (a part of the
 * text, upper and lower case are the same); glob. web/src/filter.ts parses the user's language into
 * these steps; web/src/match.ts does as match_item() for a page without a server.
 * Tests: tests/cli/test_view.py, tests/view.
 */
#ifndef VESTIGE_TOOLS_MATCH_H
#define VESTIGE_TOOLS_MATCH_H

#include "tools/view/columns.h"

/* MATCH_UNKNOWN: the condition is on a column that this item does not have. */
enum match_result { MATCH_NO, MATCH_YES, MATCH_UNKNOWN };

struct match;

/*
 * match_new() - make a condition ready for @c, which is borrowed.
 * @steps: as above; "": everything meets it. Return: 0; -ENOMEM or -EINVAL (not a condition) with
 * fail() set.
 */
int match_new(const struct columns *c, const char *steps, struct match **out);
void match_free(struct match *m);

/*
 * match_item() - is the condition met by a span of a track?
 * @track, @row: their numbers. @nr: the span's number in the row.
 */
enum match_result match_item(const struct match *m, uint32_t track, uint32_t row, size_t nr);

/* The same for an event, by its number in columns.events. */
enum match_result match_event(const struct match *m, size_t nr);

/*
 * columns_filter() - the calls and events of @c that meet a condition (MATCH_YES), and the spans of
 * CPUs and states that do not fail it (all but MATCH_NO).
 * @out: has @c's tracks, rows, names and texts, and fewer spans. It borrows @c.
 * Return: 0 or -ENOMEM with fail() set.
 */
int columns_filter(const struct columns *c, const struct match *m, struct columns **out);

#endif
