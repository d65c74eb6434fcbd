/* SPDX-License-Identifier: MIT */
/*
 * Reads the records that a killed recorder left in the areas of its processes: those that it had
 * not written into its spool yet.
 */
#ifndef VESTIGE_TOOLS_SPOOL_REST_H
#define VESTIGE_TOOLS_SPOOL_REST_H

#include <stdint.h>

#include "tools/area/pages.h"

struct area;

/* A bit in page_ref.index: the page is in an area. */
#define SPOOL_REST_MARK (UINT32_C(1) << 31)

struct spool_rest {
	struct area **of; /* by member; NULL: no area was found for it */
	uint32_t nr;
	unsigned int nr_areas; /* that were found */
};

/*
 * spool_rest_add() - add the pages of those areas at @paths that belong to the recording: their
 * process has tables in @p, or is of a session of recorder @recorder (its pid; 0: unknown). An area
 * that a live recorder reads is skipped, and so is one that cannot be read.
 * @rest: all zero at first; to be closed with spool_rest_close(), also on failure.
 * Return: 0 or -ENOMEM with fail() set.
 */
int spool_rest_add(struct spool_rest *rest, struct pages *p, const char *const *paths,
		   unsigned int nr, int recorder);
void spool_rest_close(struct spool_rest *rest);

/* As pages_source.fetch, for a page with the mark. */
int spool_rest_fetch(const struct spool_rest *rest, const struct page_ref *ref, void *page);

#endif
