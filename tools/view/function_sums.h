/* SPDX-License-Identifier: MIT */
/*
 * Times of functions in a range of a recording: what the page's table of functions shows for the
 * range that is selected. The columns are only read. Costs one walk over the calls of the range
 * and c->nr_names entries. Tests: tests/cli/test_view.py.
 */
#ifndef VESTIGE_TOOLS_FUNCTION_SUMS_H
#define VESTIGE_TOOLS_FUNCTION_SUMS_H

#include "tools/view/span_walk.h"

struct function_sum {
	uint64_t calls; /* 0: it has none in the range */
	uint64_t total; /* ns; a call beneath another call of the same function counts once */
	uint64_t sum;	/* ns; a call beneath another one of the same function counts, too */
	uint64_t self, shortest, longest;
	uint32_t open; /* calls that are open while the sums are made */
};

/*
 * walk_tracks() - walk_calls() of some tracks, or of all.
 * @tracks: @nr numbers; tracks without calls are left out; @nr 0: all. @from, @to: ns of
 * the trace's clock. Return: 0 or -ENOMEM with fail() set.
 */
int walk_tracks(const struct columns *c, const uint32_t *tracks, size_t nr, uint64_t from,
		uint64_t to, const struct walk_ops *ops, void *arg);

/*
 * function_sums() - the sums of all functions, by the number of their names.
 * @out: c->nr_names of them; the caller frees it. Return: as walk_tracks().
 */
int function_sums(const struct columns *c, const uint32_t *tracks, size_t nr, uint64_t from,
		  uint64_t to, struct function_sum **out);

#endif
