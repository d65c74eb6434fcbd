/* SPDX-License-Identifier: MIT */
/*
 * A page of the ring: 64 bytes of header, then records back to back.
 *
 * A page belongs to one thread and one CPU from the moment it is taken until it is published. So
 * its header has the thread and the CPU of all its records. A page's state is in its descriptor in
 * the area (see area.h), never in the page itself:
 *
 *	FREE -> OWNED (a thread writes) -> PUBLISHED (complete, commit is final)
 *	PUBLISHED -> FREE       by the reader, when the buffer discards
 *	PUBLISHED -> OWNED      by a writer, when the buffer overwrites
 *
 * An OWNED page is readable too: records below `commit` whose head word is not zero are complete.
 * Writers that reserve with one instruction may increase `commit` of a full page past the page's
 * end, so a reader uses PAGE_BYTES instead of a greater `commit`.
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
	uint64_t base_stamp; /* clock units; stamps of the records count from it */
	int32_t tid;	     /* the thread that wrote all of its records */
	uint32_t cpu;	     /* the CPU on which all of them were written */
	uint32_t task;	     /* index into the area's table of tasks */
	uint32_t buffer;     /* index into the area's table of buffers */
	/* losses on this CPU since the buffer began, at the time the page was taken */
	uint64_t overrun;
	uint64_t dropped_events;
	uint64_t commit_overrun;
	uint64_t seq; /* number of the take in this buffer, from 1 */
};
static_assert(sizeof(struct page_head) == PAGE_HEAD_BYTES, "page_head is part of the format");

enum page_state {
	PAGE_FREE = 0,
	PAGE_OWNED = 1,
	PAGE_PUBLISHED = 2,
	PAGE_TAKING = 3, /* between FREE or PUBLISHED and OWNED: a writer clears it; do not read */
	PAGE_GONE = 4,	 /* beyond its CPU's quota, which was made smaller: it has no memory */
	PAGE_KEPT = 5,	 /* a copy that belongs to the stretch in AREA_LATENCIES; since 1.5 */
};

/*
 * One per page, in an array outside the pages, so that a reader finds new pages without reading the
 * pages. `seq` is the number of the publication in the buffer, from 1. A copy of a page is good if
 * state and seq were the same before and after the copy. Only the low byte of `state` changes, so
 * that a reader can store it with a one-byte write.
 *
 * `read` is the read position of a consuming reader (trace_pipe), see page_read_mark(). It is valid
 * only for one page_head.seq, part of which it contains.
 */
struct page_desc {
	uint64_t seq;
	uint32_t state; /* enum page_state */
	uint32_t read;
};
static_assert(sizeof(struct page_desc) == 16, "page_desc is part of the format");

#define PAGE_READ_BITS 10

/*
 * page_read_mark() - a value for page_desc.read.
 * @seq:   page_head.seq of the page.
 * @bytes: bytes that are read, from the page's start; a multiple of 8, at most PAGE_BYTES.
 */
static inline uint32_t page_read_mark(uint64_t seq, uint32_t bytes)
{
	return (uint32_t)seq << PAGE_READ_BITS | bytes / 8;
}

/*
 * page_read_bytes() - the bytes, from the page's start, that are read of a page.
 * @mark: page_desc.read.
 * @seq:  page_head.seq of the page; if @mark is of another one, the result is 0.
 */
static inline uint32_t page_read_bytes(uint32_t mark, uint64_t seq)
{
	uint32_t bytes = (mark & ((1u << PAGE_READ_BITS) - 1)) * 8;

	if (mark >> PAGE_READ_BITS != ((uint32_t)seq & (UINT32_MAX >> PAGE_READ_BITS)))
		return 0;
	return bytes <= PAGE_BYTES ? bytes : PAGE_BYTES;
}

#endif
