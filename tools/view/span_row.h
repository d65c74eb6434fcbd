/* SPDX-License-Identifier: MIT */
/*
 * A row of a track: spans in order of time that do not overlap, as columns. An implicit tree over
 * them gives the blocks to draw for any range quickly.
 *
 * The tree's leaves are SPAN_LEAF spans each, and each node above is made of SPAN_FANOUT nodes. A
 * node has its start and end, the sum of its spans' lengths, the longest span, and the name that
 * has most of the time. It takes 5 % of the columns. Both may be in a file: spill_array.h.
 * Tests: tests/unit/view/test_span_row.c, against a search through all spans.
 */
#ifndef VESTIGE_TOOLS_SPAN_ROW_H
#define VESTIGE_TOOLS_SPAN_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_LEAF_BITS	 6u
#define SPAN_FANOUT_BITS 3u
#define SPAN_LEAF	 (1u << SPAN_LEAF_BITS)
#define SPAN_FANOUT	 (1u << SPAN_FANOUT_BITS)
#define SPAN_LEVELS	 16u /* enough for 64 * 8^15 spans */

/* A leaf of the tree, or a node above. */
struct span_node {
	uint64_t start, end; /* start of its first span, end of its last one */
	uint64_t busy;	     /* all lengths together */
	uint64_t longest;    /* length of the longest span */
	uint64_t which;	     /* number of the longest span in the row */
	uint64_t name_busy;  /* a lower bound of the name's time */
	uint32_t name;	     /* the name with most of the time, as far as the nodes beneath show */
	uint32_t of_longest; /* name of the longest span */
	uint32_t extra;	     /* of the longest span; 0 where the row has none */
	uint32_t reserved;
};

struct span_row {
	uint64_t *start;  /* ns of the trace's clock, rising */
	uint64_t *length; /* ns; 0: an event, which has no length */
	uint32_t *name;	  /* a number of the columns' names */
	uint32_t *extra;  /* its meaning depends on the kind of track; NULL: none */
	size_t nr, room;
	bool has_extra;			      /* set before the first span_row_add() */
	bool outline;			      /* span_row_outline(): there is only the tree */
	bool borrowed;			      /* the leaves are in memory that another owns */
	struct span_node *nodes[SPAN_LEVELS]; /* [0] the leaves; the last level has one node */
	size_t nr_nodes[SPAN_LEVELS];
	unsigned int nr_levels;
};

/* A block on the screen: a span, or several that are too short to be shown apart. */
struct span_block {
	uint64_t start, end;
	uint64_t busy;
	uint64_t count;
	uint64_t longest; /* length of its longest span, the first of equal ones */
	uint64_t which;	  /* number of that span */
	uint32_t name;	  /* its name */
	uint32_t extra;	  /* extra of that span; 0 if the row has none */
};

/*
 * span_row_add() - append a span.
 * @start: a span that begins before the last one ended begins where that ends.
 * Return: 0 or -ENOMEM with fail() set; then the row is as it was.
 */
int span_row_add(struct span_row *row, uint64_t start, uint64_t length, uint32_t name,
		 uint32_t extra);

/* Make the tree, once all spans are there. Return: 0 or -ENOMEM with fail() set. */
int span_row_finish(struct span_row *row);

/*
 * span_row_outline() - make a row that has only the tree of @row, for a coarse picture.
 * A row of at most SPAN_WHOLE spans is copied. Of a larger one there are no columns; only
 * span_row_query() may be called, and its finest block is a leaf.
 * @row: finished (its tree is copied: 5 % of its bytes) or not; stays as it is. @out: empty;
 * span_row_clear() it, also after a failure.
 * Return: 0 or -ENOMEM with fail() set.
 */
#define SPAN_WHOLE 1024u
int span_row_outline(const struct span_row *row, struct span_row *out);

/*
 * span_row_from_leaves() - make an outline from stored leaves.
 * @nr: spans of the row. @leaves: of all these spans; borrowed until span_row_clear(). @nr_names:
 * number of names; a leaf's name must be smaller. Return: 0; -EINVAL: these cannot be the leaves of
 * a row; -ENOMEM. fail() is set.
 */
int span_row_from_leaves(size_t nr, struct span_node *leaves, uint32_t nr_names,
			 struct span_row *out);
void span_row_clear(struct span_row *row);

/* Free the tree alone; span_row_finish() makes it again. */
void span_row_clear_tree(struct span_row *row);

/* The number of the first span that ends after @ts, or is an event at @ts or later. */
size_t span_row_from(const struct span_row *row, uint64_t ts);
/* The number of the first span that begins at @ts or later. */
size_t span_row_begins(const struct span_row *row, uint64_t ts);

/*
 * span_row_query() - the blocks to draw for [@from, @to).
 * @pixel: ns that one pixel shows, 0: all spans. A span of at least this length is a block of its
 * own. Shorter spans that begin in the same pixel are one block. Pixels are counted from @from.
 * @emit: called with each block in order; not 0 ends the query. Return: what @emit returned last.
 * Cost: about 16 nodes or a leaf of spans a pixel, whatever the row's size.
 */
int span_row_query(const struct span_row *row, uint64_t from, uint64_t to, uint64_t pixel,
		   int (*emit)(void *arg, const struct span_block *block), void *arg);

#endif
