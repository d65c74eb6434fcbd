/* SPDX-License-Identifier: MIT */
/*
 * Counts the distances between requests of a device, as btt does. The shape of btt's tree decides
 * which of equal modes comes first, and which distance it prints as the median.
 */
#ifndef VESTIGE_TOOLS_BLK_SEEKS_H
#define VESTIGE_TOOLS_BLK_SEEKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/blk/blk_tree.h"

struct blk_seeks {
	struct blk_tree tree; /* by distance */
	int64_t last_begin, last_end;
	uint64_t n;
	double sectors;
};

struct blk_modes {
	int64_t *of; /* malloced */
	size_t nr, room;
	uint64_t n; /* how often each was */
};

/*
 * Add a request. @absolute: measure always from the end of the last one. Return: 0 or -errno with
 * fail() set.
 */
int blk_seeks_add(struct blk_seeks *s, uint64_t sector, uint64_t end, bool absolute);
void blk_seeks_free(struct blk_seeks *s);
/* A distance that half of all requests have; 0: there is none. btt prints this as the median. */
int64_t blk_seeks_median(const struct blk_seeks *s);
/* The most frequent distances, in btt's order. Return: 0 or -errno with fail() set. */
int blk_seeks_modes(const struct blk_seeks *s, struct blk_modes *m);

#endif
