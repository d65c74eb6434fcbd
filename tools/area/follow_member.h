/* SPDX-License-Identifier: MIT */
/*
 * One of the processes that a struct follow reads, and its pages at the time of a turn. The area is
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
	int fd;		   /* -1: it has no more records */
	struct meta *meta; /* the reader's, counts refreshed; NULL: the reader has none */
	bool dead;	   /* it could get no more records before the last turn */
	bool replaced;	   /* its process is a later member, too (exec) */
	bool taken;	   /* records were taken that are not in its counts yet */
	bool freed;	   /* pages were given back */
	uint32_t number;
	uint32_t nr_printks;   /* formats at the last printks_add_new() */
	struct area_done done; /* pages with nothing left to take */
};

/* Has its area still its name? Not after exec: the new program's area has it. */
bool member_has_name(const struct member *m);

/* The member's row of AREA_CPUS for @cpu; NULL: it has none. */
struct area_cpu *member_row(const struct member *m, unsigned int cpu);

/*
 * Read the records of a page that were not taken yet. A page that is being written is cut at its
 * first unfinished record.
 * @page: PAGE_BYTES. Return: 1, 0 (there is nothing) or -errno with fail() set.
 */
int member_read_rest(const struct member *m, uint32_t index, uint64_t *page, struct page_desc *d);

/*
 * Call @each for the descriptors of a CPU's pages that have an owner or records, until it returns
 * less than 0. Return: 0, that value, or -ENOMEM with fail() set.
 */
int member_each_page(const struct member *m, unsigned int cpu,
		     int (*each)(void *arg, uint32_t index, const struct page_desc *d), void *arg);

/* Has a page records that were not taken yet? Reads only its head and read position. */
bool member_has_rest(struct member *m, uint32_t index, const struct page_desc *d);

#endif
