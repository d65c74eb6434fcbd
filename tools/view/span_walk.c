/* SPDX-License-Identifier: MIT */
/* See span_walk.h. Tests: tests/cli/test_view.py, against `vestige profile` and `vestige graph`. */
#include "tools/view/span_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

struct walk {
	const struct track *t;
	uint64_t from, to;
	size_t *next; /* by row: the call that comes next */
	const struct walk_ops *ops;
	void *arg;
};

static bool has_before(const struct walk *w, uint32_t row, uint64_t limit)
{
	return row < w->t->nr_rows && w->next[row] < w->t->rows[row].nr &&
	       w->t->rows[row].start[w->next[row]] < limit;
}

/*
 * The calls of @row, and beneath it, that begin before @limit. Its depth is that of the stack, at
 * most COLUMNS_MAX_ROWS.
 * @since: where their caller begins. Return: their time behind that, which is in the range.
 */
static uint64_t walk_row(struct walk *w, uint32_t row, uint64_t since, uint64_t limit)
{
	uint64_t sum = 0;

	while (has_before(w, row, limit)) {
		const struct span_row *r = &w->t->rows[row];
		struct walk_call call = {.row = row, .nr = w->next[row]++};
		uint64_t end = r->start[call.nr] + r->length[call.nr];

		/* the record of their caller was lost */
		walk_row(w, row + 1, UINT64_MAX, r->start[call.nr]);
		call.name = r->name[call.nr];
		call.start = r->start[call.nr] < w->from ? w->from : r->start[call.nr];
		end = end > w->to ? w->to : end;
		call.length = end > call.start ? end - call.start : 0;
		w->ops->enter(w->arg, &call);
		call.beneath = walk_row(w, row + 1, call.start, end);
		w->ops->leave(w->arg, &call);
		sum += call.start >= since ? call.length : 0;
	}
	return sum;
}

/* Where the recording begins in the middle of calls: the callers of the first ones are not in it. */
static void walk_first(struct walk *w)
{
	for (uint32_t row = w->t->nr_rows; row-- > 1;) {
		const struct span_row *around = &w->t->rows[row - 1];
		size_t next = w->next[row - 1];

		walk_row(w, row, UINT64_MAX,
			 next < around->nr && around->start[next] < w->to ? around->start[next]
									  : w->to);
	}
}

int walk_calls(const struct track *t, uint64_t from, uint64_t to, const struct walk_ops *ops,
	       void *arg)
{
	struct walk w = {.t = t, .from = from, .to = to, .ops = ops, .arg = arg};

	w.next = calloc(t->nr_rows + 1u, sizeof(*w.next));
	if (!w.next)
		return fail(ENOMEM, "out of memory");
	for (uint32_t row = 0; row < t->nr_rows; row++)
		w.next[row] = span_row_from(&t->rows[row], from);
	walk_first(&w);
	for (uint32_t row = 0; row < t->nr_rows; row++)
		walk_row(&w, row, UINT64_MAX, to);
	free(w.next);
	return 0;
}
