/* SPDX-License-Identifier: MIT */
/*
 * Rows of spans and their blocks on the screen, tools/view/span_row.c, against a search through all
 * spans.
 */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/view/span_row.h"

#define SEED 0x9e3779b9u

static uint32_t random_next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Spans of many lengths, with gaps of many lengths between them. */
static void make_row(struct span_row *row, size_t nr, uint32_t seed)
{
	uint64_t ts = 1000;

	memset(row, 0, sizeof(*row));
	for (size_t i = 0; i < nr; i++) {
		uint64_t length = random_next(&seed) >> random_next(&seed) % 24;

		ts += random_next(&seed) >> random_next(&seed) % 24;
		assert_int_equal(span_row_add(row, ts, length, random_next(&seed) % 7, 0), 0);
		ts += length;
	}
	assert_int_equal(span_row_finish(row), 0);
}

struct seen {
	const struct span_row *row;
	uint64_t from, pixel;
	uint64_t count, busy, nr, last_start;
	size_t next; /* the span that has to come */
};

/* Blocks are in order, have each span once, and say what a look at their spans says. */
static int look(void *arg, const struct span_block *block)
{
	struct seen *s = arg;
	uint64_t busy = 0, longest = 0;
	size_t which = s->next;

	assert_true(block->count > 0);
	assert_true(block->start >= s->last_start);
	assert_int_equal(block->start, s->row->start[s->next]);
	for (uint64_t i = 0; i < block->count; i++, s->next++) {
		uint64_t length = s->row->length[s->next];

		if (!i || length > longest) {
			longest = length;
			which = s->next;
		}
		busy += length;
		/* what can be seen alone is alone */
		if (s->pixel && length >= s->pixel)
			assert_int_equal(block->count, 1);
	}
	assert_int_equal(block->end, s->row->start[s->next - 1] + s->row->length[s->next - 1]);
	assert_int_equal(block->busy, busy);
	assert_int_equal(block->longest, longest);
	assert_int_equal(block->which, which);
	assert_int_equal(block->name, s->row->name[which]);
	s->count += block->count;
	s->busy += busy;
	s->last_start = block->start;
	s->nr++;
	return 0;
}

static void test_query(void **state)
{
	uint32_t seed = SEED;
	struct span_row row;

	for (size_t nr = 1; nr < 60000; nr = nr * 3 + 1) {
		uint64_t last;

		make_row(&row, nr, seed);
		last = row.start[nr - 1] + row.length[nr - 1] + 1;
		for (int i = 0; i < 200; i++) {
			uint64_t from = random_next(&seed) * (last >> 20), to, pixel;
			struct seen s = {.row = &row};
			size_t expected = 0, first = nr;

			from = i ? from % last : 0;
			to = i ? from + 1 + random_next(&seed) % (last - from) : last;
			pixel = i % 3 ? (to - from) / (1 + random_next(&seed) % 2000) : 0;
			for (size_t at = 0; at < nr; at++) {
				uint64_t end = row.start[at] + row.length[at];
				bool in = row.start[at] < to &&
					  (end > from || (!row.length[at] && end >= from));

				first = in && first == nr ? at : first;
				expected += in;
			}
			s.from = from;
			s.pixel = pixel;
			s.next = first;
			assert_int_equal(span_row_query(&row, from, to, pixel, look, &s), 0);
			assert_int_equal(s.count, expected);
			/* a screen's worth: no more blocks than pixels, and two at its ends */
			if (pixel)
				assert_true(s.nr <= 2 * ((to - from) / pixel) + 4);
		}
		span_row_clear(&row);
	}
}

static int stop(void *arg, const struct span_block *block)
{
	(void)block;
	return ++*(int *)arg == 3 ? -77 : 0;
}

static void test_emit_ends_it(void **state)
{
	struct span_row row;
	int nr = 0;

	make_row(&row, 1000, SEED);
	assert_int_equal(span_row_query(&row, 0, UINT64_MAX, 0, stop, &nr), -77);
	assert_int_equal(nr, 3);
	span_row_clear(&row);
}

static void test_overlaps_and_ends(void **state)
{
	struct span_row row = {.has_extra = true};

	assert_int_equal(span_row_query(&row, 0, UINT64_MAX, 1, stop, NULL), 0);
	assert_int_equal(span_row_add(&row, 100, 50, 1, 7), 0);
	assert_int_equal(span_row_add(&row, 120, 10, 2, 8), 0);		/* lies within the first */
	assert_int_equal(span_row_add(&row, 140, UINT64_MAX, 3, 9), 0); /* ends behind all time */
	assert_int_equal(span_row_finish(&row), 0);
	assert_int_equal(row.start[1], 150);
	assert_int_equal(row.length[1], 0);
	assert_int_equal(row.start[2], 150);
	assert_true(row.start[2] + row.length[2] == UINT64_MAX);
	assert_int_equal(row.extra[2], 9);
	assert_int_equal(span_row_from(&row, 149), 0);
	assert_int_equal(span_row_from(&row, 151), 2);
	assert_int_equal(span_row_begins(&row, 150), 1);
	span_row_clear(&row);
}

/* Less than 8 % of the columns, with one node at the top. */
static void test_tree_is_small(void **state)
{
	size_t nodes = 0;
	struct span_row row;

	make_row(&row, 1000000, SEED);
	for (unsigned int i = 0; i < row.nr_levels; i++)
		nodes += row.nr_nodes[i];
	assert_int_equal(row.nr_nodes[row.nr_levels - 1], 1);
	assert_true(nodes * sizeof(struct span_node) < row.nr * 20 * 8 / 100);
	span_row_clear(&row);
}

struct sums {
	uint64_t count, busy, longest;
};

static int sum(void *arg, const struct span_block *block)
{
	struct sums *s = arg;

	s->count += block->count;
	s->busy += block->busy;
	s->longest = block->longest > s->longest ? block->longest : s->longest;
	return 0;
}

/* The tree alone has all spans in blocks of at most a leaf or a pixel; a small row is as it was. */
static void test_outline(void **state)
{
	for (size_t nr = 1; nr < 60000; nr = nr * 3 + 1) {
		struct span_row row, outline, again, bare;
		struct span_node *leaves;
		uint64_t last;

		make_row(&row, nr, SEED);
		last = row.start[nr - 1] + row.length[nr - 1] + 1;
		assert_int_equal(span_row_outline(&row, &outline), 0);
		assert_int_equal(outline.outline, nr > SPAN_WHOLE);
		for (uint64_t pixel = last; pixel; pixel /= 10) {
			struct sums a = {0}, b = {0};

			span_row_query(&row, 0, last, pixel, sum, &a);
			span_row_query(&outline, 0, last, pixel, sum, &b);
			assert_memory_equal(&a, &b, sizeof(a));
			/* a part: at most a leaf more at each end */
			a = b = (struct sums){0};
			span_row_query(&row, last / 3, last / 2, pixel, sum, &a);
			span_row_query(&outline, last / 3, last / 2, pixel, sum, &b);
			assert_true(b.count >= a.count && b.count <= a.count + 2 * SPAN_LEAF);
		}
		if (outline.outline) {
			leaves = malloc(outline.nr_nodes[0] * sizeof(*leaves));
			memcpy(leaves, outline.nodes[0], outline.nr_nodes[0] * sizeof(*leaves));
			leaves[1].which = 0; /* a span of another leaf */
			assert_int_equal(span_row_from_leaves(nr, leaves, 7, &again), -EINVAL);
			leaves[1] = outline.nodes[0][1];
			again.nr_levels = 0;
			assert_int_equal(span_row_from_leaves(nr, leaves, 7, &again), 0);
			for (unsigned int i = 0; i < outline.nr_levels; i++)
				assert_memory_equal(again.nodes[i], outline.nodes[i],
						    outline.nr_nodes[i] * sizeof(*leaves));
			span_row_clear(&again);
			free(leaves);
			/* the same of a row whose tree is not made yet */
			bare = row;
			bare.nr_levels = 0;
			assert_int_equal(span_row_outline(&bare, &again), 0);
			assert_int_equal(again.nr_levels, outline.nr_levels);
			for (unsigned int i = 0; i < outline.nr_levels; i++)
				assert_memory_equal(again.nodes[i], outline.nodes[i],
						    outline.nr_nodes[i] * sizeof(*leaves));
			span_row_clear(&again);
		}
		span_row_clear(&outline);
		span_row_clear(&row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_emit_ends_it),
		cmocka_unit_test(test_overlaps_and_ends),
		cmocka_unit_test(test_tree_is_small),
		cmocka_unit_test(test_outline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
