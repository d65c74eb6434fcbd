/* SPDX-License-Identifier: MIT */
/* See span_walk.h. Tests: tests/cli/test_view.py, against `vestige profile` and `vestige graph`. */
#include "tools/view/span_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"
#include "tools/base/spill_array.h"

#define TRIM_EACH (1u << 20) /* calls, of 24 bytes each */

/* A row of the track, and its next call. */
struct walk_row {
	const struct span_row *row;
	size_t next;
	uint64_t begins; /* where the next call begins; UINT64_MAX: there is none */
};

struct walk {
	uint64_t from, to;
	struct walk_row *rows; /* of the track, and an empty one behind them */
	const struct walk_ops *ops;
	void *arg;
	uint64_t nr; /* calls */
};

static void walk_next(struct walk_row *r, size_t next)
{
	r->next = next;
	r->begins = next < r->row->nr ? r->row->start[next] : UINT64_MAX;
}

/*
 * Walk the calls of @row, and of the rows beneath, that begin before @limit. The recursion is as
 * deep as the recorded stack: at most COLUMNS_MAX_ROWS.
 * @since: start of their caller's part in the range. Return: the time of the calls that begin at
 * @since or later.
 */
static uint64_t walk_row(struct walk *w, uint32_t row, uint64_t since, uint64_t limit)
{
	struct walk_row *r = &w->rows[row], *beneath = r + 1;
	uint64_t sum = 0;

	while (r->begins < limit) {
		struct walk_call call = {.row = row, .nr = r->next};
		uint64_t start = r->begins, end = start + r->row->length[call.nr];

		walk_next(r, call.nr + 1);
		if (beneath->begins < start) /* the record of their caller was lost */
			walk_row(w, row + 1, UINT64_MAX, start);
		call.name = r->row->name[call.nr];
		call.start = start < w->from ? w->from : start;
		end = end > w->to ? w->to : end;
		call.length = end > call.start ? end - call.start : 0;
		w->ops->enter(w->arg, &call);
		if (beneath->begins < end)
			call.beneath = walk_row(w, row + 1, call.start, end);
		w->ops->leave(w->arg, &call);
		if (++w->nr % TRIM_EACH == 0)
			spill_arrays_trim();
		sum += call.start >= since ? call.length : 0;
	}
	return sum;
}

/* Calls at the start of a recording whose callers are not in it. */
static void walk_first(struct walk *w, uint32_t nr_rows)
{
	for (uint32_t row = nr_rows; row-- > 1;) {
		uint64_t around = w->rows[row - 1].begins;

		walk_row(w, row, UINT64_MAX, around < w->to ? around : w->to);
	}
}

int walk_calls(const struct track *t, uint64_t from, uint64_t to, const struct walk_ops *ops,
	       void *arg)
{
	static const struct span_row none;
	struct walk w = {.from = from, .to = to, .ops = ops, .arg = arg};

	w.rows = calloc(t->nr_rows + 1u, sizeof(*w.rows));
	if (!w.rows)
		return fail(ENOMEM, "out of memory");
	for (uint32_t row = 0; row <= t->nr_rows; row++) {
		w.rows[row].row = row < t->nr_rows ? &t->rows[row] : &none;
		walk_next(&w.rows[row], span_row_from(w.rows[row].row, from));
	}
	walk_first(&w, t->nr_rows);
	for (uint32_t row = 0; row < t->nr_rows; row++)
		walk_row(&w, row, UINT64_MAX, to);
	free(w.rows);
	return 0;
}
