/* SPDX-License-Identifier: MIT */
/* See span_row.h. */
#include "tools/view/span_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/spill_array.h"

#define FIRST_ROOM 64u
#define TRIM_EACH  (1u << 14) /* nodes, of 1.5 KiB of columns each */

static int grow_column(void *column, size_t room, size_t bytes)
{
	void *more = spill_array_grow(*(void **)column, room * bytes);

	if (!more)
		return -ENOMEM;
	*(void **)column = more;
	return 0;
}

/*
 * @room: spans. Return: 0 or -ENOMEM with fail() set; then columns may be larger than row->room
 * says.
 */
static int grow_to(struct span_row *row, size_t room)
{
	if (grow_column(&row->start, room, sizeof(*row->start)) ||
	    grow_column(&row->length, room, sizeof(*row->length)) ||
	    grow_column(&row->name, room, sizeof(*row->name)) ||
	    (row->has_extra && grow_column(&row->extra, room, sizeof(*row->extra))))
		return -ENOMEM;
	row->room = room;
	return 0;
}

int span_row_add(struct span_row *row, uint64_t start, uint64_t length, uint32_t name,
		 uint32_t extra)
{
	uint64_t end = start + length < start ? UINT64_MAX : start + length;

	if (row->nr == row->room && grow_to(row, row->room ? 2 * row->room : FIRST_ROOM))
		return -ENOMEM;
	if (row->nr) {
		uint64_t before = row->start[row->nr - 1] + row->length[row->nr - 1];

		start = start < before ? before : start;
		end = end < start ? start : end;
	}
	row->start[row->nr] = start;
	row->length[row->nr] = end - start;
	row->name[row->nr] = name;
	if (row->has_extra)
		row->extra[row->nr] = extra;
	row->nr++;
	return 0;
}

void span_row_clear(struct span_row *row)
{
	spill_array_free(row->start);
	spill_array_free(row->length);
	spill_array_free(row->name);
	spill_array_free(row->extra);
	span_row_clear_tree(row);
	memset(row, 0, sizeof(*row));
}

void span_row_clear_tree(struct span_row *row)
{
	for (unsigned int i = row->borrowed; i < row->nr_levels; i++)
		spill_array_free(row->nodes[i]);
	row->nr_levels = 0;
}

static uint64_t end_of(const struct span_row *row, size_t i)
{
	return row->start[i] + row->length[i];
}

/*
 * The name with the most time, by a majority vote (Boyer and Moore, MJRTY, 1991): it is right if
 * one name has over half of the time. Without branches, since the CPU cannot predict the next name.
 */
static inline void vote(struct span_node *node, uint32_t name, uint64_t busy)
{
	uint64_t before = node->name_busy;
	bool same = node->name == name, wins = !same && before < busy;
	uint64_t apart = wins ? busy - before : before - busy;

	node->name_busy = same ? before + busy : apart;
	node->name = wins ? name : node->name;
}

static void make_leaf(const struct span_row *row, size_t i, struct span_node *node)
{
	size_t last = i + SPAN_LEAF < row->nr ? i + SPAN_LEAF : row->nr;

	*node = (struct span_node){.start = row->start[i],
				   .longest = row->length[i],
				   .which = i,
				   .name = row->name[i]};
	for (; i < last; i++) {
		node->busy += row->length[i];
		vote(node, row->name[i], row->length[i]);
		if (row->length[i] > node->longest) {
			node->longest = row->length[i];
			node->which = i;
		}
	}
	node->end = end_of(row, last - 1);
	node->of_longest = row->name[node->which];
	node->extra = row->has_extra ? row->extra[node->which] : 0;
}

static void make_node(const struct span_node *below, size_t nr, struct span_node *node)
{
	*node = below[0];
	node->end = below[nr - 1].end;
	for (size_t i = 1; i < nr; i++) {
		node->busy += below[i].busy;
		vote(node, below[i].name, below[i].name_busy);
		if (below[i].longest > node->longest) {
			node->longest = below[i].longest;
			node->which = below[i].which;
			node->of_longest = below[i].of_longest;
			node->extra = below[i].extra;
		}
	}
}

/* Make all levels that are missing. @row: its columns make the leaves. */
static int make_levels(const struct span_row *row, struct span_row *to)
{
	size_t nr = to->nr_levels ? to->nr_nodes[to->nr_levels - 1] : to->nr;

	while (nr > 1 || (nr && !to->nr_levels)) {
		unsigned int level = to->nr_levels;
		size_t per = level ? SPAN_FANOUT : SPAN_LEAF, made = (nr + per - 1) / per;
		struct span_node *nodes = spill_array_grow(NULL, made * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		for (size_t i = 0; i < made; i++) {
			if (level)
				make_node(&to->nodes[level - 1][i * per],
					  nr - i * per < per ? nr - i * per : per, &nodes[i]);
			else
				make_leaf(row, i * per, &nodes[i]);
			if ((i + 1) % TRIM_EACH == 0)
				spill_arrays_trim();
		}
		to->nodes[level] = nodes;
		to->nr_nodes[level] = nr = made;
		to->nr_levels = level + 1;
	}
	return 0;
}

int span_row_finish(struct span_row *row)
{
	return make_levels(row, row);
}

/*
 * Copy the levels of @row: 5 % of its columns' bytes, and faster than to make them from all spans.
 */
static int copy_levels(const struct span_row *row, struct span_row *to)
{
	for (unsigned int i = 0; i < row->nr_levels; i++) {
		struct span_node *nodes = spill_array_grow(NULL, row->nr_nodes[i] * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		memcpy(nodes, row->nodes[i], row->nr_nodes[i] * sizeof(*nodes));
		to->nodes[i] = nodes;
		to->nr_nodes[i] = row->nr_nodes[i];
		to->nr_levels = i + 1;
	}
	return 0;
}

int span_row_outline(const struct span_row *row, struct span_row *out)
{
	*out = (struct span_row){.has_extra = row->has_extra, .outline = row->nr > SPAN_WHOLE};
	if (out->outline) {
		out->nr = row->nr;
		return copy_levels(row, out) ? -ENOMEM : make_levels(row, out);
	}
	for (size_t i = 0; i < row->nr; i++)
		if (span_row_add(out, row->start[i], row->length[i], row->name[i],
				 row->has_extra ? row->extra[i] : 0))
			return -ENOMEM;
	return make_levels(out, out);
}

/* Can @n be the leaf of the spans from number @first to @first + @nr - 1? */
static bool is_leaf(const struct span_node *n, size_t first, size_t nr, uint32_t nr_names)
{
	return n->start <= n->end && n->longest <= n->busy && n->busy <= n->end - n->start &&
	       n->which >= first && n->which - first < nr && n->name < nr_names &&
	       n->of_longest < nr_names;
}

int span_row_from_leaves(size_t nr, struct span_node *leaves, uint32_t nr_names,
			 struct span_row *out)
{
	size_t made = (nr + SPAN_LEAF - 1) / SPAN_LEAF;

	*out = (struct span_row){.nr = nr,
				 .has_extra = true,
				 .outline = true,
				 .borrowed = true,
				 .nodes = {leaves},
				 .nr_nodes = {made},
				 .nr_levels = 1};
	for (size_t i = 0; i < made; i++) {
		size_t first = i * SPAN_LEAF;

		if (!is_leaf(&leaves[i], first, nr - first < SPAN_LEAF ? nr - first : SPAN_LEAF,
			     nr_names) ||
		    (i && leaves[i].start < leaves[i - 1].end))
			return fail(EINVAL, "the index is damaged");
	}
	return make_levels(NULL, out);
}

size_t span_row_begins(const struct span_row *row, uint64_t ts)
{
	return LOWER_BOUND(i, 0, row->nr, row->start[i] < ts);
}

size_t span_row_from(const struct span_row *row, uint64_t ts)
{
	size_t i = span_row_begins(row, ts);

	return i && end_of(row, i - 1) > ts ? i - 1 : i;
}

/* A query, with the block of one pixel that is not emitted yet. */
struct query {
	const struct span_row *row;
	uint64_t from, pixel;
	struct span_block block; /* count 0: none */
	uint64_t pixel_ends;	 /* end of the block's pixel, in ns after @from */
	int (*emit)(void *arg, const struct span_block *block);
	void *arg;
};

static int flush(struct query *q)
{
	int ret = q->block.count ? q->emit(q->arg, &q->block) : 0;

	q->block.count = 0;
	return ret;
}

/* @part: shorter than a pixel. It joins the block of the pixel in which it begins. */
static inline int take(struct query *q, const struct span_block *part)
{
	uint64_t begins = part->start > q->from ? part->start - q->from : 0;
	struct span_block *b = &q->block;
	int ret = 0;

	if (b->count && begins >= q->pixel_ends)
		ret = flush(q);
	if (ret)
		return ret;
	if (!b->count) {
		uint64_t at = begins / q->pixel * q->pixel;

		*b = *part;
		q->pixel_ends = at + q->pixel < at ? UINT64_MAX : at + q->pixel;
		return 0;
	}
	if (part->longest > b->longest) {
		b->longest = part->longest;
		b->which = part->which;
		b->name = part->name;
		b->extra = part->extra;
	}
	b->end = part->end;
	b->busy += part->busy;
	b->count += part->count;
	return 0;
}

/* A block of its own. */
static int take_alone(struct query *q, const struct span_block *block)
{
	int ret = flush(q);

	return ret ? ret : q->emit(q->arg, block);
}

static struct span_block block_of_node(const struct span_node *node, size_t nr)
{
	return (struct span_block){.start = node->start,
				   .end = node->end,
				   .busy = node->busy,
				   .count = nr,
				   .longest = node->longest,
				   .which = node->which,
				   .name = node->of_longest,
				   .extra = node->extra};
}

static int take_span(struct query *q, size_t i)
{
	const struct span_row *row = q->row;
	struct span_block one = {.start = row->start[i],
				 .end = end_of(row, i),
				 .busy = row->length[i],
				 .count = 1,
				 .longest = row->length[i],
				 .which = i,
				 .name = row->name[i],
				 .extra = row->has_extra ? row->extra[i] : 0};

	return q->pixel && one.busy < q->pixel ? take(q, &one) : take_alone(q, &one);
}

/* The first leaf of an outline that begins at @ts or later. */
static size_t leaf_begins(const struct span_row *row, uint64_t ts)
{
	return LOWER_BOUND(i, 0, row->nr_nodes[0], row->nodes[0][i].start < ts);
}

/* The spans that a query reads: from number *@first on, before number *@last. */
static void ends_of(const struct span_row *row, uint64_t from, uint64_t to, size_t *first,
		    size_t *last)
{
	if (!row->outline) {
		*first = span_row_from(row, from);
		*last = span_row_begins(row, to);
		return;
	}
	*first = leaf_begins(row, from);
	if (*first && row->nodes[0][*first - 1].end > from)
		--*first;
	*first *= SPAN_LEAF;
	*last = leaf_begins(row, to) * SPAN_LEAF;
	*last = *last < row->nr ? *last : row->nr;
}

/*
 * Does a node of @level begin with span @i, end before span @last and lie within a pixel? @count:
 * set to its spans.
 */
static bool fits(const struct query *q, size_t i, size_t last, unsigned int level, size_t *count)
{
	const struct span_row *row = q->row;
	unsigned int shift = SPAN_LEAF_BITS + level * SPAN_FANOUT_BITS;
	size_t nr = row->nr - i;
	const struct span_node *node;

	if (level >= row->nr_levels || i & (((size_t)1 << shift) - 1))
		return false;
	nr = nr < (size_t)1 << shift ? nr : (size_t)1 << shift;
	node = &row->nodes[level][i >> shift];
	if (i + nr > last || node->end - node->start >= q->pixel)
		return false;
	*count = nr;
	return true;
}

/*
 * The coarsest node that fits() span @i. If a node fits, so do the nodes beneath it that begin with
 * @i. So the search may begin at any level. From the level of the last node it reads one or two
 * nodes; from the leaves it would read a cache line of each level.
 * @level: to begin at; set to the node's level. @count: set to its spans. Return: NULL: no leaf
 * fits.
 */
static const struct span_node *coarsest(const struct query *q, size_t i, size_t last,
					unsigned int *level, size_t *count)
{
	while (!fits(q, i, last, *level, count)) {
		if (!*level)
			return NULL;
		--*level;
	}
	while (fits(q, i, last, *level + 1, count))
		++*level;
	return &q->row->nodes[*level][i >> (SPAN_LEAF_BITS + *level * SPAN_FANOUT_BITS)];
}

int span_row_query(const struct span_row *row, uint64_t from, uint64_t to, uint64_t pixel,
		   int (*emit)(void *arg, const struct span_block *block), void *arg)
{
	struct query q = {.row = row, .from = from, .pixel = pixel, .emit = emit, .arg = arg};
	unsigned int level = 0;
	size_t i, last;
	int ret = 0;

	ends_of(row, from, to, &i, &last);
	while (i < last && !ret) {
		size_t nr = row->nr - i < SPAN_LEAF ? row->nr - i : SPAN_LEAF;
		const struct span_node *node = pixel ? coarsest(&q, i, last, &level, &nr) : NULL;
		struct span_block block;

		if (node) {
			block = block_of_node(node, nr);
			ret = take(&q, &block);
		} else if (
			row->outline) { /* longer than a pixel, but an outline has nothing finer */
			block = block_of_node(&row->nodes[0][i / SPAN_LEAF], nr);
			ret = take_alone(&q, &block);
		} else {
			ret = take_span(&q, i);
			nr = 1;
		}
		i += nr;
	}
	return ret ? ret : flush(&q);
}
