/* SPDX-License-Identifier: MIT */
/*
 * The sums of a call tree for each function, and for each pair of a caller and a callee, over the
 * whole tree.
 */
#ifndef VESTIGE_TOOLS_CALL_EDGES_H
#define VESTIGE_TOOLS_CALL_EDGES_H

#include <stdbool.h>

#include "tools/analysis/call_tree.h"

struct call_edge {
	uint32_t caller, callee; /* functions, as in the tree's filter */
	uint64_t calls;
	uint64_t total; /* of the callee from this caller; nested calls of the pair count once */
};

struct call_edges {
	uint32_t nr_functions;
	uint64_t *self, *total, *calls; /* by function; total: recursive calls count once */
	struct call_edge *at;		/* by caller, then callee */
	size_t nr;
};

/* Return: 0 or -ENOMEM with fail() set; freed with call_edges_free() either way. */
int call_edges_make(const struct call_tree *t, struct call_edges *out);
void call_edges_free(struct call_edges *e);

/* Is the same call, by the same caller, open further up? */
bool call_edge_is_nested(const struct call_tree *t, const struct call_node *n);

#endif
