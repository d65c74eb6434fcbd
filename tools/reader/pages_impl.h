/* SPDX-License-Identifier: MIT */
/* What pages.c and pages_stream.c share: see pages.h. Nobody else includes it. */
#ifndef VESTIGE_TOOLS_PAGES_IMPL_H
#define VESTIGE_TOOLS_PAGES_IMPL_H

#include "tools/reader/clock.h"
#include "tools/reader/pages.h"

/*
 * A loaded object: run-time addresses [lo, hi) and where they lie in a trace.dat. Where one was
 * unloaded and another took its place, the stamp of a record tells which of them is meant.
 */
struct map {
	uint64_t lo, hi, bias, base;
	uint64_t reach;	 /* the greatest hi up to and with this one */
	uint64_t unload; /* clock units; UINT64_MAX: it stayed */
	bool alone;	 /* no other one shares an address with it */
};

struct member {
	struct meta *meta; /* NULL: pages came, tables did not */
	struct map *maps;  /* by lo */
	size_t nr_maps;
	uint64_t *functions; /* canonical address by id */
};

struct stream;

struct pages {
	struct reader reader; /* first */
	struct pages_source source;
	struct member **members;
	uint32_t nr_members;
	struct page_ref *refs; /* after pages_finish(): by CPU, then time */
	size_t nr_refs, room_refs;
	struct area_clock *pairs;
	size_t nr_pairs, room_pairs;
	struct clock clock;
	uint64_t clock_offset_ns; /* of trace_clock, on CLOCK_MONOTONIC */
	struct stream *streams;	  /* one a CPU */
};

extern const struct reader_ops pages_ops;

/* A record as it lies in an open page. */
struct slot {
	uint64_t word;
	uint64_t payload; /* RECORD_FUNCTION: the return address; RECORD_PRINT: where it lies */
};

#define PAGE_MAX_SLOTS (PAGE_DATA_BYTES / 8)

/*
 * page_decode() - the whole records of a page.
 * @page: PAGE_BYTES, untrusted. @out: room for PAGE_MAX_SLOTS, or NULL to count only.
 * @bytes: set to their size. @kinds: set to a bit for each enum record_kind among them.
 * Return: how many. Stops at a word that no writer makes.
 */
unsigned int page_decode(const void *page, struct slot *out, unsigned int *bytes,
			 unsigned int *kinds);

#define PAGE_GRAPH_KINDS                                                                           \
	(1u << RECORD_ENTRY | 1u << RECORD_TAIL | 1u << RECORD_EXIT | 1u << RECORD_UNWOUND |       \
	 1u << RECORD_STACK | 1u << RECORD_RETURN)

int pages_make_streams(struct pages *p);
void pages_free_streams(struct pages *p);

#endif
