/* SPDX-License-Identifier: MIT */
/*
 * A page of the ring: 64 bytes of header, then records back to back.
 *
 * A page belongs to one thread and one CPU from the moment it is taken until it is published, so
 * its header names both once for all its records. A page's state is in its descriptor in the area
 * (see area.h), never in the page itself:
 *
 *	FREE -> OWNED (a thread writes) -> PUBLISHED (complete, commit is final)
 *	PUBLISHED -> FREE       by the reader, when the buffer discards
 *	PUBLISHED -> OWNED      by a writer, when the buffer overwrites
 *
 * An OWNED page is readable too: records below `commit` whose head word is not zero are whole.
 * Writers that reserve with one instruction may push `commit` of a full page past its end, so a
 * reader takes a commit above PAGE_BYTES for PAGE_BYTES.
 */
#ifndef VESTIGE_ABI_PAGE_H
#define VESTIGE_ABI_PAGE_H

#include <assert.h>
#include <stdint.h>

#define PAGE_BYTES	4096u
#define PAGE_HEAD_BYTES 64u
#define PAGE_DATA_BYTES (PAGE_BYTES - PAGE_HEAD_BYTES)

struct page_head {
	uint64_t commit;     /* bytes used from the start of the page, header included */
	uint64_t base_stamp; /* clock units; what the records' stamps count from */
	int32_t tid;	     /* the thread that wrote all of its records */
	uint32_t cpu;	     /* the CPU on which all of them were written */
	uint32_t task;	     /* index into the area's table of tasks */
	uint32_t buffer;     /* index into the area's table of buffers */
	/* losses on this CPU since the buffer began, at the time the page was taken */
	uint64_t overrun;
	uint64_t dropped_events;
	uint64_t commit_overrun;
	uint64_t seq; /* order of taking in this buffer, from 1 */
};
static_assert(sizeof(struct page_head) == PAGE_HEAD_BYTES, "page_head is part of the format");

enum page_state {
	PAGE_FREE = 0,
	PAGE_OWNED = 1,
	PAGE_PUBLISHED = 2,
	PAGE_TAKING = 3, /* between FREE or PUBLISHED and OWNED: being cleared, not to be read */
	PAGE_GONE = 4, /* beyond its CPU's quota, which was made smaller: no memory is behind it */
	PAGE_KEPT = 5, /* a copy that belongs to the stretch of AREA_LATENCIES; since 1.5 */
};

/*
 * One per page, in an array beside the pages so that a reader finds the new ones without touching
 * the pages. `seq` is the order of publication in the buffer, from 1; a copy of a page is good
 * when state and seq were the same before and after it. Only `state`'s low byte ever changes, so
 * that a reader may store it with a one-byte write.
 *
 * `read` is a consuming reader's (trace_pipe's): how far into the page it has read, see
 * page_read_mark(). It holds for the page with that order of taking alone.
 */
struct page_desc {
	uint64_t seq;
	uint32_t state; /* enum page_state */
	uint32_t read;
};
static_assert(sizeof(struct page_desc) == 16, "page_desc is part of the format");

#define PAGE_READ_BITS 10

/* The value of `read`: the first @bytes (a multiple of 8) of the page taken as @seq are read. */
static inline uint32_t page_read_mark(uint64_t seq, uint32_t bytes)
{
	return (uint32_t)seq << PAGE_READ_BITS | bytes / 8;
}

/* The number of bytes, from the page's start, that were read of the page taken as @seq; 0: none. */
static inline uint32_t page_read_bytes(uint32_t mark, uint64_t seq)
{
	uint32_t bytes = (mark & ((1u << PAGE_READ_BITS) - 1)) * 8;

	if (mark >> PAGE_READ_BITS != ((uint32_t)seq & (UINT32_MAX >> PAGE_READ_BITS)))
		return 0;
	return bytes <= PAGE_BYTES ? bytes : PAGE_BYTES;
}

#endif
