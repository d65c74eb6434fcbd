/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that do not overlap, each free or taken, for islands. A treap in order of
 * address; each node has the longest free range below it, so that a request looks at as many nodes
 * as the tree is deep. Ranges are joined when both are free. Its memory is the heap's
 * (process/heap.h). Control context, one caller at a time. fork: the child has the same.
 * Tests: tests/unit/test_range_tree.c.
 */
#ifndef VESTIGE_HOOK_TEXT_RANGE_TREE_H
#define VESTIGE_HOOK_TEXT_RANGE_TREE_H

#include <stdint.h>

struct range;

struct range_tree {
	struct range *root;
	uint64_t nr_steps; /* nodes that were looked at since the beginning */
};

/* Whether the tree has a range that @address lies in, free or taken. */
int range_tree_has(struct range_tree *t, uint64_t address);

/*
 * range_tree_add() - @lo .. @hi, of which the tree has nothing, is free.
 * @narrow: it is kept for requests that have little choice. A range that is joined with a narrow
 * one is narrow. Return: 0 or -ENOMEM.
 */
int range_tree_add(struct range_tree *t, uint64_t lo, uint64_t hi, int narrow);

/*
 * range_tree_take() - take @bytes, more than 0, that begin at @lo .. @hi.
 * @narrow: narrow ranges may be used too. Return: the lowest address that is possible; 0: there is
 * none, or no memory.
 */
uint64_t range_tree_take(struct range_tree *t, uint64_t lo, uint64_t hi, uint32_t bytes,
			 int narrow);

/* Free the range that was taken at @at. If none was, nothing happens. */
void range_tree_give(struct range_tree *t, uint64_t at);

#endif
