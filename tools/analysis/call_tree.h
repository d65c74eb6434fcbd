/* SPDX-License-Identifier: MIT */
/*
 * The tree of calls: a node for each path of callers to a function, with the number of calls and
 * their time.
 *
 * Built from the calls of calls.h that a filter lets through; a call whose caller is hidden is put
 * under the nearest caller that is shown. With @by_thread, the root's children are threads.
 * Unfinished calls count up to the end of the trace.
 *
 * Memory: 100 bytes a node, CALL_TREE_MAX nodes at most; a call that would need one more is not
 * counted in the tree, but in `left_out`. Costs 10 to 15 ns a call.
 * Tests: tests/unit/test_call_tree.c.
 */
#ifndef VESTIGE_TOOLS_CALL_TREE_H
#define VESTIGE_TOOLS_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/analysis/call_filter.h"
#include "tools/analysis/calls.h"
#include "tools/analysis/percentiles.h"

#define CALL_TREE_MAX (1u << 22)

/*
 * A node refers to others by their numbers; 0 is the root, which is no node's child. A node is one
 * cache line; arrays of nodes are aligned to that.
 */
struct call_node {
	uint32_t function; /* as in the filter; in a thread's node the pid */
	uint32_t parent, first_child, next;
	uint32_t same;			/* nearest node above of the same function, 0 none */
	uint32_t thread : 1;		/* it is a thread's node */
	uint32_t follower : 31;		/* the node that followed it the last time, 0 none */
	uint64_t calls;			/* that have ended, or were open at the end */
	uint64_t total, self, min, max; /* in the reader's units; see call_tree_suspended() */
};

struct call_tree {
	struct call_filter *filter;
	struct call_node *nodes;
	uint32_t nr, room;
	struct call_tree_slot {
		uint32_t parent, function, node; /* node 0: empty */
	} * slots;
	uint32_t nr_slots;
	uint64_t *suspended; /* by node, the first nr_suspended; NULL: no call was suspended */
	uint32_t nr_suspended;
	struct percentiles *spreads; /* by function; NULL: not wanted */
	uint32_t nr_spreads;
	bool by_thread;
	uint32_t left; /* the node that was left last, 0 none */
	uint64_t nr_calls, left_out;
	int err;
};

/*
 * call_tree_init() - an empty tree.
 * @filter: borrowed. @spreads: keep a histogram of durations for each function.
 * Return: 0 or -ENOMEM with fail() set; either way call_tree_clear() frees it.
 */
int call_tree_init(struct call_tree *t, struct call_filter *filter, bool by_thread, bool spreads);
void call_tree_clear(struct call_tree *t);

/* For calls_new(), with the tree as @arg. Failures are in t->err, with fail() set. */
extern const struct calls_ops call_tree_ops;

/*
 * call_tree_child() - the node of @function under @parent, made if it is not there.
 * Return: 0 when there are too many nodes or, with t->err and fail() set, memory is short.
 */
uint32_t call_tree_child(struct call_tree *t, uint32_t parent, uint32_t function, bool thread);

/* Time that node @n was suspended as the innermost call of its stack; in no node's self time. */
static inline uint64_t call_tree_suspended(const struct call_tree *t, uint32_t n)
{
	return n < t->nr_suspended ? t->suspended[n] : 0;
}

/*
 * call_tree_beneath() - make @out the tree beneath the @wanted functions; their recursive calls
 * count once.
 * call_tree_callers() - the same upside down: under a function its callers, and under these their
 * callers. All counts are of the calls of the function at the top.
 * @wanted: by number of function, nr of the filter. @out: initialised, empty. Return: 0 or -ENOMEM
 * with fail() set.
 */
int call_tree_beneath(const struct call_tree *t, const bool *wanted, struct call_tree *out);
int call_tree_callers(const struct call_tree *t, const bool *wanted, struct call_tree *out);

/*
 * call_tree_next() - walk the tree: a node comes before the nodes beneath it.
 * @i: 0 at first, then what was returned. @depth: 0 at first; gets the depth of the node, 1 for the
 * root's children.
 * Return: the next node that has calls or is a thread's; 0: there are no more.
 */
uint32_t call_tree_next(const struct call_tree *t, uint32_t i, unsigned int *depth);

/* Order the children of each node by total time, the longest first. Return: 0 or -ENOMEM. */
int call_tree_sort(struct call_tree *t);

#endif
