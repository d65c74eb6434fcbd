/* SPDX-License-Identifier: MIT */
/* The tree of a view's calls, made by two threads if possible. */
#ifndef VESTIGE_TOOLS_VIEW_TREE_H
#define VESTIGE_TOOLS_VIEW_TREE_H

#include "tools/analysis/call_tree.h"
#include "tools/text/view.h"

/*
 * view_run_tree() - view_run() with call_tree_ops. @t: of the view's filter. Return: 0 or -errno
 * with fail() set.
 */
int view_run_tree(struct view *v, struct call_tree *t);

#endif
