/* SPDX-License-Identifier: MIT */
/*
 * Address ranges that do not overlap, each free or taken, for islands. A treap sorted by address.
 * Each node has the longest free range of its subtree, so a request visits only as many nodes as
 * the tree is deep. Free neighbours are joined. The memory is from process/heap.h. Control context,
 * one caller at a time. fork: the child has the same.
 * Tests: tests/unit/test_range_tree.c.
 */
#ifndef VESTIGE_HOOK_TEXT_RANGE_TREE_H
#define VESTIGE_HOOK_TEXT_RANGE_TREE_H

#include <stdint.h>

struct range;

struct range_tree {
	struct range *root;
	uint64_t nr_steps; /* nodes that were visited since the beginning */
};

/* Whether the tree has a range, free or taken, that contains @address. */
int range_tree_has(struct range_tree *t, uint64_t address);

/*
 * range_tree_add() - add @lo .. @hi, which the tree does not have yet, as free. @narrow: keep it
 * for requests that have little choice. A range that is joined with a narrow one becomes narrow.
 * Return: 0 or -ENOMEM.
 */
int range_tree_add(struct range_tree *t, uint64_t lo, uint64_t hi, int narrow);

/*
 * range_tree_take() - take @bytes, more than 0, that begin at @lo .. @hi. @narrow: narrow ranges
 * may be used too. Return: the lowest possible address; 0: there is none, or no memory.
 */
uint64_t range_tree_take(struct range_tree *t, uint64_t lo, uint64_t hi, uint32_t bytes,
			 int narrow);

/* Free the range that was taken at @at; does nothing if none was. */
void range_tree_give(struct range_tree *t, uint64_t at);

#endif
