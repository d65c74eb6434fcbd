/* SPDX-License-Identifier: MIT */
/* The path from a thread to a node of a call tree, for formats that write whole stacks. */
#ifndef VESTIGE_TOOLS_CALL_PATH_H
#define VESTIGE_TOOLS_CALL_PATH_H

#include "tools/analysis/call_tree.h"

/* All zero at first. */
struct call_path {
	int32_t tid;
	uint32_t *functions; /* the innermost first, as in the tree's filter */
	size_t nr, room;
};

/*
 * Set it to the path of node @i of a tree by thread. Return: 0; -ENOMEM with fail() set, and it is
 * empty.
 */
int call_path_of(struct call_path *p, const struct call_tree *t, uint32_t i);
void call_path_free(struct call_path *p);

#endif
