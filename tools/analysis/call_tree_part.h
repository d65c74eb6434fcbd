/* SPDX-License-Identifier: MIT */
/*
 * The tree of calls of a recording's later records, made by another thread than the tree of those
 * before.
 *
 * Of each thread the part does not know which calls are open when it begins. It hangs calls under
 * a root for what is the innermost of these; when that one ends, by an exit that has no entry
 * here, there is another root for the call around it. call_tree_part_join() knows: the roots are
 * the calls that the first tree's builder has open at the end of its records.
 *
 * Costs what call_tree.h says, and joining 100 ns a node. Tests: tests/unit/test_call_tree.c.
 */
#ifndef VESTIGE_TOOLS_CALL_TREE_PART_H
#define VESTIGE_TOOLS_CALL_TREE_PART_H

#include <stdbool.h>

#include "tools/analysis/call_tree.h"

struct call_tree_part;

/*
 * call_tree_part_new() - nothing yet. @r: gives the records; borrowed. Its symbols are not asked.
 * @like: the first tree, whose filter leaves nothing out but short calls (call_tree_can_part()).
 * Return: NULL with fail() set when memory is short.
 */
struct call_tree_part *call_tree_part_new(struct reader *r, const struct call_tree *like);
void call_tree_part_free(struct call_tree_part *p);

/* Whether the calls of @t are shown whatever is around them. */
bool call_tree_can_part(const struct call_tree *t);

/*
 * call_tree_part_run() - the next run of records, of the one process; none is a RECORD_STACK.
 * Return: 0; 1: the part cannot be joined; -ENOMEM with fail() set.
 */
int call_tree_part_run(struct call_tree_part *p, const struct run *run);

/*
 * call_tree_part_join() - add all to @t, whose builder @c has had all records before those of the
 * part, and is then as if it had had these, too. Return: 1; 0: they do not fit, nothing is
 * changed and the builder must get the records itself; -ENOMEM with fail() set.
 */
int call_tree_part_join(struct call_tree_part *p, struct call_tree *t, struct calls *c);

#endif
