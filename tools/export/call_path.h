/* SPDX-License-Identifier: MIT */
/* The path from a thread to a node of a call tree, for formats that write whole stacks. */
#ifndef VESTIGE_TOOLS_CALL_PATH_H
#define VESTIGE_TOOLS_CALL_PATH_H

#include "tools/analysis/call_tree.h"

/* All zero: empty. Freed with call_path_free(). */
struct call_path {
	int32_t tid;
	uint32_t *functions; /* numbers in the tree's filter, the innermost first */
	size_t nr, room;
};

/*
 * Set @p to the path of node @i of @t, a tree by thread. Return: 0; -ENOMEM with fail() set, and
 * the path is empty.
 */
int call_path_of(struct call_path *p, const struct call_tree *t, uint32_t i);
void call_path_free(struct call_path *p);

#endif
