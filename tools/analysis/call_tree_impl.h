/* SPDX-License-Identifier: MIT */
/* The loops of call_tree.c and call_tree_part.c, which alone include it. */
#ifndef VESTIGE_TOOLS_CALL_TREE_IMPL_H
#define VESTIGE_TOOLS_CALL_TREE_IMPL_H

#include "tools/analysis/call_filter_impl.h"
#include "tools/analysis/call_tree.h"
#include "tools/analysis/calls_impl.h"
#include "tools/base/fail.h"

/*
 * The lower half of a call's data is its node. A call without a node has the node of the nearest
 * call around it, marked by NODE_NONE.
 */
#define NODE_NONE  (UINT64_C(1) << 31)
#define NODE(data) ((uint32_t)(data) & (uint32_t)(NODE_NONE - 1))

/*
 * In call_tree.c: find or make the node of a call by the hash tables of functions and nodes.
 * @up: the node above; if 0 and t->by_thread, it is set to the thread's node. Return: the node, 0
 * none.
 */
uint32_t call_tree_find(struct call_tree *t, struct call *call, const struct call *parent,
			uint32_t *up);
/* Make the histogram of a new function. NULL: no memory. */
struct percentiles *call_tree_spread(struct call_tree *t, uint32_t function);
/* Node @n was suspended for @time. */
void call_tree_suspend(struct call_tree *t, uint32_t n, uint64_t time);
/* Add the counts of node @n of @t to node @i of @out. */
void call_tree_add(struct call_tree *out, uint32_t i, const struct call_tree *t, uint32_t n);

/*
 * A function mostly makes its calls in the same order. So the first guess, before any table, is the
 * node that followed the last-left child the last time.
 * Return: that node, if it is of a call of @ip under node @up; else 0.
 */
static inline uint32_t likely_child(const struct call_tree *t, uint32_t up, uint64_t ip)
{
	const struct call_filter *f = t->filter;
	uint32_t left = t->left, n;

	if (!f->all || !up)
		return 0;
	n = left && t->nodes[left].parent == up ? t->nodes[left].follower
						: t->nodes[up].first_child;
	return n && f->functions[t->nodes[n].function].ip == ip ? n : 0;
}

/* A call begins under node @up: the parent's, or the nearest one that is shown. */
static inline void call_tree_enter(struct call_tree *t, struct call *call,
				   const struct call *parent, uint32_t up)
{
	uint32_t n = likely_child(t, up, call->ip);

	if (n)
		call_filter_pass(call, parent);
	else
		n = call_tree_find(t, call, parent, &up);
	/* fetch the likely next call: large trees do not fit the cache */
	__builtin_prefetch(&t->nodes[t->nodes[n].first_child], 1);
	call->data |= n ? n : up | NODE_NONE;
}

/* A call of node @n has ended: it took @time, of which @self was not in calls beneath. */
static inline void count_call(struct call_tree *t, struct call_node *n, uint64_t time,
			      uint64_t self)
{
	__builtin_prefetch(&t->nodes[n->follower], 1);
	n->calls++;
	n->total += time;
	n->self += self;
	n->min = time < n->min ? time : n->min;
	n->max = time > n->max ? time : n->max;
	t->nr_calls++;
	if (t->spreads) {
		struct percentiles *s = n->function < t->nr_spreads
						? &t->spreads[n->function]
						: call_tree_spread(t, n->function);

		if (!s || percentiles_count(s, time))
			t->err = fail(ENOMEM, "out of memory");
	}
}

static inline void call_tree_leave(struct call_tree *t, const struct call *call)
{
	uint64_t time, not_self;

	t->left = call->data & NODE_NONE ? 0 : NODE(call->data);
	if (!t->left || !call_filter_long(t->filter, call))
		return;
	time = call->end - call->start;
	not_self = call->children + call->suspended;
	if (call->suspended)
		call_tree_suspend(t, t->left, call->suspended);
	count_call(t, &t->nodes[t->left], time, time > not_self ? time - not_self : 0);
}

/* Enter and leave a call without a struct call. Return: false: it is not the likely child. */
static inline bool call_tree_leaf(struct call_tree *t, const struct call *parent, uint64_t ip,
				  uint64_t time)
{
	uint32_t n = likely_child(t, NODE(parent->data), ip);

	if (!n)
		return false;
	t->left = n;
	if (time >= t->filter->wish->min_ns)
		count_call(t, &t->nodes[n], time, time);
	return true;
}

#endif
