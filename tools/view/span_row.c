/* SPDX-License-Identifier: MIT */
/* See span_row.h. */
#include "tools/view/span_row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

#define FIRST_ROOM 64u

static int grow_column(void *column, size_t room, size_t bytes)
{
	void *more = reallocarray(*(void **)column, room, bytes);

	if (!more)
		return fail(ENOMEM, "out of memory");
	*(void **)column = more;
	return 0;
}

static int grow(struct span_row *row)
{
	size_t room = row->room ? 2 * row->room : FIRST_ROOM;

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

	if (row->nr == row->room && grow(row))
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
	free(row->start);
	free(row->length);
	free(row->name);
	free(row->extra);
	for (unsigned int i = row->borrowed; i < row->nr_levels; i++)
		free(row->nodes[i]);
	memset(row, 0, sizeof(*row));
}

static uint64_t end_of(const struct span_row *row, size_t i)
{
	return row->start[i] + row->length[i];
}

/*
 * The name of the most time, by votes (Boyer and Moore, MJRTY, 1991): it is right if one name has
 * over half of the time.
 */
static void vote(struct span_node *node, uint32_t name, uint64_t busy)
{
	if (node->name == name) {
		node->name_busy += busy;
	} else if (node->name_busy >= busy) {
		node->name_busy -= busy;
	} else {
		node->name = name;
		node->name_busy = busy - node->name_busy;
	}
}

static void make_leaf(const struct span_row *row, size_t i, struct span_node *node)
{
	size_t last = i + SPAN_LEAF < row->nr ? i + SPAN_LEAF : row->nr;

	*node = (struct span_node){.start = row->start[i],
				   .end = end_of(row, last - 1),
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

/* All levels that are not there yet. @row: whose columns make the leaves. */
static int make_levels(const struct span_row *row, struct span_row *to)
{
	size_t nr = to->nr_levels ? to->nr_nodes[to->nr_levels - 1] : to->nr;

	while (nr > 1 || (nr && !to->nr_levels)) {
		unsigned int level = to->nr_levels;
		size_t per = level ? SPAN_FANOUT : SPAN_LEAF, made = (nr + per - 1) / per;
		struct span_node *nodes = calloc(made, sizeof(*nodes));

		if (!nodes)
			return fail(ENOMEM, "out of memory");
		for (size_t i = 0; i < made; i++) {
			if (level)
				make_node(&to->nodes[level - 1][i * per],
					  nr - i * per < per ? nr - i * per : per, &nodes[i]);
			else
				make_leaf(row, i * per, &nodes[i]);
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

/* The levels that @row has. They take 5 % of its columns: less than to make them from all spans. */
static int copy_levels(const struct span_row *row, struct span_row *to)
{
	for (unsigned int i = 0; i < row->nr_levels; i++) {
		struct span_node *nodes = calloc(row->nr_nodes[i], sizeof(*nodes));

		if (!nodes)
			return fail(ENOMEM, "out of memory");
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

/* Can it be the leaf of the spans number @first to @first + @nr - 1? */
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
	size_t low = 0, high = row->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (row->start[mid] < ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

size_t span_row_from(const struct span_row *row, uint64_t ts)
{
	size_t i = span_row_begins(row, ts);

	return i && end_of(row, i - 1) > ts ? i - 1 : i;
}

/* The block of one pixel, not emitted yet. */
struct query {
	const struct span_row *row;
	uint64_t from, pixel;
	struct span_block block; /* count 0: none */
	uint64_t at;		 /* its pixel */
	int (*emit)(void *arg, const struct span_block *block);
	void *arg;
};

static int flush(struct query *q)
{
	int ret = q->block.count ? q->emit(q->arg, &q->block) : 0;

	q->block.count = 0;
	return ret;
}

/* Several spans, of at most a pixel together. */
static int take(struct query *q, const struct span_node *node, uint64_t count)
{
	uint64_t at = (node->start > q->from ? node->start - q->from : 0) / q->pixel;
	struct span_block *b = &q->block;
	int ret = 0;

	if (b->count && at != q->at)
		ret = flush(q);
	if (ret)
		return ret;
	if (!b->count) {
		*b = (struct span_block){.start = node->start};
		q->at = at;
	}
	if (!b->count || node->longest > b->longest) {
		b->longest = node->longest;
		b->which = node->which;
		b->name = node->of_longest;
		b->extra = node->extra;
	}
	b->end = node->end;
	b->busy += node->busy;
	b->count += count;
	return 0;
}

static int take_span(struct query *q, size_t i)
{
	const struct span_row *row = q->row;
	uint32_t extra = row->has_extra ? row->extra[i] : 0;
	struct span_block one = {.start = row->start[i],
				 .end = end_of(row, i),
				 .busy = row->length[i],
				 .count = 1,
				 .longest = row->length[i],
				 .which = i,
				 .name = row->name[i],
				 .extra = extra};
	struct span_node node = {.start = one.start,
				 .end = one.end,
				 .busy = one.busy,
				 .longest = one.longest,
				 .which = i,
				 .of_longest = one.name,
				 .extra = extra};
	int ret;

	if (q->pixel && row->length[i] < q->pixel)
		return take(q, &node, 1);
	ret = flush(q);
	return ret ? ret : q->emit(q->arg, &one);
}

/* A leaf that is longer than a pixel, of an outline: a block of its own. */
static int take_leaf(struct query *q, const struct span_node *leaf, size_t nr)
{
	struct span_block block = {.start = leaf->start,
				   .end = leaf->end,
				   .busy = leaf->busy,
				   .count = nr,
				   .longest = leaf->longest,
				   .which = leaf->which,
				   .name = leaf->of_longest,
				   .extra = leaf->extra};
	int ret = flush(q);

	return ret ? ret : q->emit(q->arg, &block);
}

/* The first leaf of an outline that begins at @ts or later. */
static size_t leaf_begins(const struct span_row *row, uint64_t ts)
{
	size_t low = 0, high = row->nr_nodes[0];

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (row->nodes[0][mid].start < ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The spans that a query looks at: those from number *@from on, before number *@to. */
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

int span_row_query(const struct span_row *row, uint64_t from, uint64_t to, uint64_t pixel,
		   int (*emit)(void *arg, const struct span_block *block), void *arg)
{
	struct query q = {.row = row, .from = from, .pixel = pixel, .emit = emit, .arg = arg};
	size_t i, last;
	int ret = 0;

	ends_of(row, from, to, &i, &last);
	while (i < last && !ret) {
		const struct span_node *best = NULL;
		size_t per = SPAN_LEAF, count = 0;

		/* The coarsest node that begins here and is within a pixel. */
		for (unsigned int level = 0; pixel && level < row->nr_levels && i % per == 0;
		     level++) {
			const struct span_node *node = &row->nodes[level][i / per];
			size_t nr = row->nr - i < per ? row->nr - i : per;

			if (i + nr > last || node->end - node->start >= pixel)
				break;
			best = node;
			count = nr;
			per *= SPAN_FANOUT;
		}
		if (!best && row->outline) {
			count = row->nr - i < SPAN_LEAF ? row->nr - i : SPAN_LEAF;
			ret = take_leaf(&q, &row->nodes[0][i / SPAN_LEAF], count);
		} else {
			ret = best ? take(&q, best, count) : take_span(&q, i);
		}
		i += best || row->outline ? count : 1;
	}
	return ret ? ret : flush(&q);
}
