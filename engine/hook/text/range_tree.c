/* SPDX-License-Identifier: MIT */
/* See range_tree.h. */
#include "engine/hook/text/range_tree.h"

#include <errno.h>
#include <stddef.h>

#include "engine/process/heap.h"

struct range {
	struct range *left, *right;
	uint64_t lo, hi;
	uint64_t longest[2]; /* longest free ranges in this subtree: wide ones, all */
	uint32_t priority;   /* not less than the priorities of left and right */
	uint8_t taken, narrow;
};

static uint64_t longest_of(const struct range *n, int narrow)
{
	return n ? n->longest[narrow] : 0;
}

static void update_range(struct range *n)
{
	int narrow;

	for (narrow = 0; narrow < 2; narrow++) {
		uint64_t own = n->taken || n->narrow > narrow ? 0 : n->hi - n->lo;
		uint64_t left = longest_of(n->left, narrow), right = longest_of(n->right, narrow);

		n->longest[narrow] = own > left ? own : left;
		if (right > n->longest[narrow])
			n->longest[narrow] = right;
	}
}

/* Split a tree. @below: the ranges that begin below @at. @rest: the others. */
static void split_ranges(struct range_tree *t, struct range *n, uint64_t at, struct range **below,
			 struct range **rest)
{
	if (!n) {
		*below = *rest = NULL;
		return;
	}
	t->nr_steps++;
	if (n->lo < at) {
		split_ranges(t, n->right, at, &n->right, rest);
		*below = n;
	} else {
		split_ranges(t, n->left, at, below, &n->left);
		*rest = n;
	}
	update_range(n);
}

/* Join two trees; all of @a is below all of @b. */
static struct range *join_ranges(struct range_tree *t, struct range *a, struct range *b)
{
	if (!a || !b)
		return a ? a : b;
	t->nr_steps++;
	if (a->priority > b->priority) {
		a->right = join_ranges(t, a->right, b);
		update_range(a);
		return a;
	}
	b->left = join_ranges(t, a, b->left);
	update_range(b);
	return b;
}

static void insert_range(struct range_tree *t, struct range *n)
{
	struct range *below, *rest;

	n->left = n->right = NULL;
	update_range(n);
	split_ranges(t, t->root, n->lo, &below, &rest);
	t->root = join_ranges(t, join_ranges(t, below, n), rest);
}

static void withdraw_range(struct range_tree *t, const struct range *n)
{
	struct range *below, *it, *rest;

	split_ranges(t, t->root, n->lo, &below, &rest);
	split_ranges(t, rest, n->lo + 1, &it, &rest);
	t->root = join_ranges(t, below, rest);
}

static struct range *new_range(uint64_t lo, uint64_t hi)
{
	struct range *n = heap_alloc(sizeof(*n));

	if (!n)
		return NULL;
	n->lo = lo;
	n->hi = hi;
	/* as good as random, and the same in each run */
	n->priority = (uint32_t)((lo * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
	return n;
}

static struct range *find_range(struct range_tree *t, uint64_t address)
{
	struct range *n = t->root;

	while (n && (address < n->lo || address >= n->hi)) {
		t->nr_steps++;
		n = address < n->lo ? n->left : n->right;
	}
	return n;
}

int range_tree_has(struct range_tree *t, uint64_t address)
{
	return find_range(t, address) != NULL;
}

/* Insert a free range, and join it with free neighbours. */
static void insert_free(struct range_tree *t, struct range *n)
{
	struct range *other = find_range(t, n->lo - 1);

	if (other && !other->taken) {
		withdraw_range(t, other);
		n->lo = other->lo;
		n->narrow |= other->narrow;
		heap_free(other);
	}
	other = find_range(t, n->hi);
	if (other && !other->taken) {
		withdraw_range(t, other);
		n->hi = other->hi;
		n->narrow |= other->narrow;
		heap_free(other);
	}
	insert_range(t, n);
}

int range_tree_add(struct range_tree *t, uint64_t lo, uint64_t hi, int narrow)
{
	struct range *n = new_range(lo, hi);

	if (!n)
		return -ENOMEM;
	n->narrow = narrow != 0;
	insert_free(t, n);
	return 0;
}

struct request {
	uint64_t lo, hi;
	uint32_t bytes;
	int narrow;
};

static uint64_t first_in_range(const struct range *n, const struct request *r)
{
	uint64_t at = r->lo > n->lo ? r->lo : n->lo;

	return at <= r->hi && at < n->hi && n->hi - at >= r->bytes ? at : 0;
}

/*
 * Find the lowest free range that has room. Only the two ranges at the request's bounds can be long
 * enough and still not have room.
 */
static struct range *find_free_range(struct range_tree *t, struct range *n, const struct request *r)
{
	struct range *found;

	if (!n || n->longest[r->narrow] < r->bytes)
		return NULL;
	t->nr_steps++;
	if (r->lo < n->lo) {
		found = find_free_range(t, n->left, r);
		if (found)
			return found;
	}
	if (!n->taken && n->narrow <= r->narrow && first_in_range(n, r))
		return n;
	return n->hi <= r->hi ? find_free_range(t, n->right, r) : NULL;
}

uint64_t range_tree_take(struct range_tree *t, uint64_t lo, uint64_t hi, uint32_t bytes, int narrow)
{
	const struct request r = {lo, hi, bytes, narrow != 0};
	struct range *n = find_free_range(t, t->root, &r), *before = NULL, *after = NULL;
	uint64_t at;

	if (!n)
		return 0;
	at = first_in_range(n, &r);
	if (n->lo < at)
		before = new_range(n->lo, at);
	if (at + bytes < n->hi)
		after = new_range(at + bytes, n->hi);
	if ((n->lo < at && !before) || (at + bytes < n->hi && !after)) {
		heap_free(before);
		heap_free(after);
		return 0;
	}
	withdraw_range(t, n);
	n->lo = at;
	n->hi = at + bytes;
	n->taken = 1;
	insert_range(t, n);
	if (before) {
		before->narrow = n->narrow;
		insert_range(t, before);
	}
	if (after) {
		after->narrow = n->narrow;
		insert_range(t, after);
	}
	return at;
}

void range_tree_give(struct range_tree *t, uint64_t at)
{
	struct range *n = find_range(t, at);

	if (!n || n->lo != at || !n->taken)
		return;
	withdraw_range(t, n);
	n->taken = 0;
	insert_free(t, n);
}
