/* SPDX-License-Identifier: MIT */
/* See blk_seeks.h. Tests: tests/cli/test_blk.py. */
#include "tools/blk/blk_seeks.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

/* The tree's node is first. */
struct seek {
	struct blk_tree_node node;
	int64_t distance;
	uint64_t n;
};

static struct seek *seek_of(struct blk_tree_node *n)
{
	return (struct seek *)n;
}

static int insert(struct blk_seeks *s, int64_t distance)
{
	struct blk_tree_node *parent = NULL, *at = s->tree.root;
	struct seek *seek;
	int side = BLK_LEFT;

	while (at) {
		seek = seek_of(at);
		if (seek->distance == distance) {
			seek->n++;
			return 0;
		}
		side = distance > seek->distance;
		parent = at;
		at = at->child[side];
	}
	seek = malloc(sizeof(*seek));
	if (!seek)
		return fail(ENOMEM, "out of memory for seeks");
	seek->distance = distance;
	seek->n = 1;
	blk_tree_link(&s->tree, &seek->node, parent, side);
	return 0;
}

int blk_seeks_add(struct blk_seeks *s, uint64_t sector, uint64_t sector_end, bool absolute)
{
	int64_t begin = (int64_t)sector, end = (int64_t)sector_end, distance;

	/* without signs: a hostile file has any sector */
	distance = (int64_t)(sector - (uint64_t)(absolute || begin > s->last_end ? s->last_end
										 : s->last_begin));
	/* overlapping requests need no seek */
	if (!absolute && ((s->last_begin <= begin && begin <= s->last_end) ||
			  (s->last_begin <= end && end <= s->last_end)))
		distance = 0;
	s->last_begin = begin;
	s->last_end = end;
	if (distance < 0)
		distance = distance == INT64_MIN ? INT64_MAX : -distance;
	s->n++;
	s->sectors += (double)distance;
	return insert(s, distance);
}

static void free_seek(struct blk_tree_node *n)
{
	free(seek_of(n));
}

void blk_seeks_free(struct blk_seeks *s)
{
	blk_tree_free(&s->tree, free_seek);
}

/* Search from the root down, left before right. */
static bool find_half(const struct blk_seeks *s, struct blk_tree_node *at, int64_t *distance)
{
	if (!at)
		return false;
	if (seek_of(at)->n >= s->n / 2) {
		*distance = seek_of(at)->distance;
		return true;
	}
	return find_half(s, at->child[BLK_LEFT], distance) ||
	       find_half(s, at->child[BLK_RIGHT], distance);
}

int64_t blk_seeks_median(const struct blk_seeks *s)
{
	int64_t distance = 0;

	find_half(s, s->tree.root, &distance);
	return distance;
}

/* In order of the tree: children first. */
static int add_modes(struct blk_tree_node *at, struct blk_modes *m)
{
	int err;

	if (!at)
		return 0;
	err = add_modes(at->child[BLK_LEFT], m);
	if (!err)
		err = add_modes(at->child[BLK_RIGHT], m);
	if (err || seek_of(at)->n < m->n)
		return err;
	if (seek_of(at)->n > m->n)
		m->nr = 0;
	m->n = seek_of(at)->n;
	if (ARRAY_ROOM(m->of, m->nr, m->room, 8))
		return fail(ENOMEM, "out of memory for seeks");
	m->of[m->nr++] = seek_of(at)->distance;
	return 0;
}

int blk_seeks_modes(const struct blk_seeks *s, struct blk_modes *m)
{
	*m = (struct blk_modes){0};
	return add_modes(s->tree.root, m);
}
