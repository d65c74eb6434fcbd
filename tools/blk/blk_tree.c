/* SPDX-License-Identifier: MIT */
/* See blk_tree.h. Tests: tests/cli/test_blk.py. */
#include "tools/blk/blk_tree.h"

#include <stddef.h>

typedef struct blk_tree_node node;

static int side_of(const node *n)
{
	return n->parent->child[BLK_RIGHT] == n;
}

/* Replace @n by @to below its parent. */
static void replace(struct blk_tree *t, node *n, node *to)
{
	if (!n->parent)
		t->root = to;
	else
		n->parent->child[side_of(n)] = to;
	if (to)
		to->parent = n->parent;
}

static void rotate(struct blk_tree *t, node *top, int to)
{
	node *up = top->child[!to];

	top->child[!to] = up->child[to];
	if (up->child[to])
		up->child[to]->parent = top;
	replace(t, top, up);
	up->child[to] = top;
	top->parent = up;
}

static void balance_linked(struct blk_tree *t, node *n)
{
	while (n->parent && n->parent->red) {
		node *parent = n->parent, *above = parent->parent, *uncle;
		int side = side_of(parent);

		uncle = above->child[!side];
		if (uncle && uncle->red) {
			parent->red = uncle->red = false;
			above->red = true;
			n = above;
			continue;
		}
		if (side_of(n) != side) {
			rotate(t, parent, side);
			parent = n;
		}
		parent->red = false;
		above->red = true;
		rotate(t, above, !side);
		break;
	}
	t->root->red = false;
}

void blk_tree_link(struct blk_tree *t, node *n, node *parent, int side)
{
	*n = (node){.parent = parent, .red = true};
	if (parent)
		parent->child[side] = n;
	else
		t->root = n;
	balance_linked(t, n);
}

void blk_tree_replace(struct blk_tree *t, node *old, node *n)
{
	*n = *old;
	replace(t, old, n);
	for (int side = BLK_LEFT; side <= BLK_RIGHT; side++)
		if (n->child[side])
			n->child[side]->parent = n;
}

static bool is_red(const node *n)
{
	return n && n->red;
}

/* Rebalance after a black node was erased on the path to @n. @n: may be NULL; below @parent. */
static void balance_erased(struct blk_tree *t, node *n, node *parent)
{
	while (!is_red(n) && n != t->root) {
		int side = parent->child[BLK_RIGHT] == n;
		node *other = parent->child[!side];

		if (other->red) {
			other->red = false;
			parent->red = true;
			rotate(t, parent, side);
			other = parent->child[!side];
		}
		if (!is_red(other->child[BLK_LEFT]) && !is_red(other->child[BLK_RIGHT])) {
			other->red = true;
			n = parent;
			parent = n->parent;
			continue;
		}
		if (!is_red(other->child[!side])) {
			other->child[side]->red = false;
			other->red = true;
			rotate(t, other, !side);
			other = parent->child[!side];
		}
		other->red = parent->red;
		parent->red = false;
		other->child[!side]->red = false;
		rotate(t, parent, side);
		n = t->root;
		break;
	}
	if (n)
		n->red = false;
}

void blk_tree_erase(struct blk_tree *t, node *n)
{
	node *child, *parent, *next;
	bool was_red = n->red;

	if (!n->child[BLK_LEFT] || !n->child[BLK_RIGHT]) {
		child = n->child[!n->child[BLK_LEFT]];
		parent = n->parent;
		replace(t, n, child);
	} else {
		/* the next one takes its place */
		for (next = n->child[BLK_RIGHT]; next->child[BLK_LEFT];)
			next = next->child[BLK_LEFT];
		was_red = next->red;
		child = next->child[BLK_RIGHT];
		parent = next->parent == n ? next : next->parent;
		if (next->parent != n) {
			replace(t, next, child);
			next->child[BLK_RIGHT] = n->child[BLK_RIGHT];
			next->child[BLK_RIGHT]->parent = next;
		}
		replace(t, n, next);
		next->child[BLK_LEFT] = n->child[BLK_LEFT];
		next->child[BLK_LEFT]->parent = next;
		next->red = n->red;
	}
	if (!was_red)
		balance_erased(t, child, parent);
}

static void free_below(node *n, void (*free_node)(node *n))
{
	if (!n)
		return;
	free_below(n->child[BLK_LEFT], free_node);
	free_below(n->child[BLK_RIGHT], free_node);
	free_node(n);
}

void blk_tree_free(struct blk_tree *t, void (*free_node)(node *n))
{
	free_below(t->root, free_node);
	t->root = NULL;
}
