/* SPDX-License-Identifier: MIT */
/* See call_edges.h. Tests: tests/cli/test_export.py. */
#include "tools/analysis/call_edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

static bool has_caller(const struct call_tree *t, const struct call_node *n)
{
	return n->parent && !t->nodes[n->parent].thread;
}

bool call_edge_is_nested(const struct call_tree *t, const struct call_node *n)
{
	uint32_t caller = t->nodes[n->parent].function;

	for (uint32_t i = n->same; i; i = t->nodes[i].same)
		if (has_caller(t, &t->nodes[i]) && t->nodes[t->nodes[i].parent].function == caller)
			return true;
	return false;
}

static int by_functions(const void *x, const void *y)
{
	const struct call_edge *a = x, *b = y;

	if (a->caller != b->caller)
		return a->caller < b->caller ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

static size_t merge_equal(struct call_edge *at, size_t nr)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++) {
		if (n && !by_functions(&at[n - 1], &at[i])) {
			at[n - 1].calls += at[i].calls;
			at[n - 1].total += at[i].total;
		} else {
			at[n++] = at[i];
		}
	}
	return n;
}

int call_edges_make(const struct call_tree *t, struct call_edges *out)
{
	size_t nr = call_filter_nr(t->filter);
	unsigned int depth = 0;

	*out = (struct call_edges){.nr_functions = (uint32_t)nr,
				   .self = calloc(nr + 1, sizeof(uint64_t)),
				   .total = calloc(nr + 1, sizeof(uint64_t)),
				   .calls = calloc(nr + 1, sizeof(uint64_t)),
				   .at = malloc(t->nr * sizeof(*out->at))};
	if (!out->self || !out->total || !out->calls || !out->at)
		return fail(ENOMEM, "out of memory");
	for (uint32_t i = call_tree_next(t, 0, &depth); i; i = call_tree_next(t, i, &depth)) {
		const struct call_node *n = &t->nodes[i];

		if (n->thread)
			continue;
		out->self[n->function] += n->self;
		out->calls[n->function] += n->calls;
		if (!n->same)
			out->total[n->function] += n->total;
		if (has_caller(t, n))
			out->at[out->nr++] = (struct call_edge){
				.caller = t->nodes[n->parent].function,
				.callee = n->function,
				.calls = n->calls,
				.total = call_edge_is_nested(t, n) ? 0 : n->total};
	}
	qsort(out->at, out->nr, sizeof(*out->at), by_functions);
	out->nr = merge_equal(out->at, out->nr);
	return 0;
}

void call_edges_free(struct call_edges *e)
{
	free(e->self);
	free(e->total);
	free(e->calls);
	free(e->at);
}
