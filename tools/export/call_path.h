/* SPDX-License-Identifier: MIT */
/* The way from a thread to a node of a call tree, for formats that name whole stacks. */
#ifndef VESTIGE_TOOLS_CALL_PATH_H
#define VESTIGE_TOOLS_CALL_PATH_H

#include "tools/analysis/call_tree.h"

/* All zero at first. */
struct call_path {
	int32_t tid;
	uint32_t *functions; /* the innermost first, as in the tree's filter */
	size_t nr, room;
};

/* Make it node @i's, of a tree by thread. Return: 0 or -ENOMEM with fail() set; it is empty then. */
int call_path_of(struct call_path *p, const struct call_tree *t, uint32_t i);
void call_path_free(struct call_path *p);

#endif
