/* SPDX-License-Identifier: MIT */
/*
 * The tree of calls of a recording's later records. One thread makes it while another thread makes
 * the tree of the earlier records; then the two trees are joined.
 *
 * The part does not know which calls of a thread are open when its records begin. It puts calls
 * under a root node, which stands for the innermost of these open calls. When that call ends, by an
 * exit that has no entry in the part, the next root stands for the call around it.
 * call_tree_part_join() finds the functions of the roots: they are the calls that the first tree's
 * builder has open at the end of its records.
 *
 * Costs the same as call_tree.h; joining costs 100 ns a node. Tests: tests/unit/test_call_tree.c.
 */
#ifndef VESTIGE_TOOLS_CALL_TREE_PART_H
#define VESTIGE_TOOLS_CALL_TREE_PART_H

#include <stdbool.h>

#include "tools/analysis/call_tree.h"

struct call_tree_part;

/*
 * call_tree_part_new() - an empty part.
 * @r: the reader of the records; borrowed. Its symbols are not used.
 * @like: the first tree; call_tree_can_part() is true of it.
 * Return: NULL with fail() set when memory is short.
 */
struct call_tree_part *call_tree_part_new(struct reader *r, const struct call_tree *like);
void call_tree_part_free(struct call_tree_part *p);

/* Does the filter of @t leave out nothing but short calls? */
bool call_tree_can_part(const struct call_tree *t);

/*
 * call_tree_part_run() - take the next run. Its records are of one process; none is a RECORD_STACK.
 * Return: 0; 1: the part cannot be joined; -ENOMEM with fail() set.
 */
int call_tree_part_run(struct call_tree_part *p, const struct run *run);

/*
 * call_tree_part_join() - add the calls of the part to @t.
 * @c: the builder of @t, which has taken all records before the part. Afterwards its state is as if
 * it had taken the part's records, too.
 * Return: 1; 0: the part does not fit, nothing is changed and @c must take the records itself;
 * -ENOMEM with fail() set.
 */
int call_tree_part_join(struct call_tree_part *p, struct call_tree *t, struct calls *c);

#endif
