/* SPDX-License-Identifier: MIT */
/*
 * `vestige graph`: the tree of calls with counts and times; of one function its callers and
 * callees.
 */
#ifndef VESTIGE_TOOLS_GRAPH_TREE_H
#define VESTIGE_TOOLS_GRAPH_TREE_H

#include <stdbool.h>

#include "tools/text/view.h"

struct graph_options {
	const char *function; /* a glob; NULL: the whole tree */
	bool threads;	      /* a tree for each thread */
	bool json;
};

/*
 * graph_tree_print() - open @v and print its tree to stdout, notes on what is missing to stderr.
 * Return: 0 or -errno with fail() set; either way the caller calls view_close(). If the reader of
 * stdout goes away, that is no error: 0.
 */
int graph_tree_print(struct view *v, const struct graph_options *opt);

#endif
