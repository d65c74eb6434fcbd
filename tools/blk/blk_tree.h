/* SPDX-License-Identifier: MIT */
/*
 * A red-black tree whose shape is the textbook's (Cormen and others, chapter 13). btt's results
 * depend on the shape where requests overlap, and on the same tree.
 */
#ifndef VESTIGE_TOOLS_BLK_TREE_H
#define VESTIGE_TOOLS_BLK_TREE_H

#include <stdbool.h>

enum { BLK_LEFT, BLK_RIGHT };

struct blk_tree_node {
	struct blk_tree_node *child[2], *parent;
	bool red;
};

struct blk_tree {
	struct blk_tree_node *root;
};

/* Put a node where @parent has no child on that side yet; NULL: it is the root. */
void blk_tree_link(struct blk_tree *t, struct blk_tree_node *n, struct blk_tree_node *parent,
		   int side);
/* @n takes the place of @old, which is no longer in the tree. */
void blk_tree_replace(struct blk_tree *t, struct blk_tree_node *old, struct blk_tree_node *n);
void blk_tree_erase(struct blk_tree *t, struct blk_tree_node *n);
/* Call @free_node for each node, children first, and have an empty tree. */
void blk_tree_free(struct blk_tree *t, void (*free_node)(struct blk_tree_node *n));

#endif
