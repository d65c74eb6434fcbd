/* SPDX-License-Identifier: MIT */
/*
 * One of the processes that a follow reads, and its pages as they are at a moment. The area is
 * untrusted: bounds are checked as area.h says. For follow.c only.
 */
#ifndef VESTIGE_TOOLS_READER_FOLLOW_MEMBER_H
#define VESTIGE_TOOLS_READER_FOLLOW_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/area.h"
#include "abi/page.h"
#include "tools/area/area.h"
#include "tools/area/follow.h"

struct member {
	struct followed what;
	char *path;
	int fd;		   /* -1: there is nothing more of it */
	struct meta *meta; /* the reader's, its counts refreshed; NULL: it has none of it */
	bool dead;	   /* it had ended before the last turn */
	bool taken;	   /* records were taken, which its counts do not have yet */
	bool freed;	   /* pages were given back */
	uint32_t number;
	uint32_t nr_printks;   /* it had when they were asked for last */
	struct area_done done; /* pages with nothing left to take */
};

/* Its row of @cpu's counts; NULL: it has none. */
struct area_cpu *member_row(const struct member *m, unsigned int cpu);

/*
 * Read a page, with no records but those not taken yet; one that is being written ends at a gap.
 * @page: PAGE_BYTES. Return: 1, 0 (there is nothing) or -errno with fail() set.
 */
int member_read_rest(const struct member *m, uint32_t index, uint64_t *page, struct page_desc *d);

/*
 * Call @each for the descriptors of a CPU's pages that have an owner or records, until it returns
 * less than 0. Return: 0, what that was, or -ENOMEM with fail() set.
 */
int member_each_page(const struct member *m, unsigned int cpu,
		     int (*each)(void *arg, uint32_t index, const struct page_desc *d), void *arg);

/* Whether a page has records not taken yet, by its head and mark: most pages are not read for
 * nothing. */
bool member_has_rest(struct member *m, uint32_t index, const struct page_desc *d);

#endif
