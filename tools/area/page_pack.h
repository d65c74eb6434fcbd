/* SPDX-License-Identifier: MIT */
/*
 * Packs pages of the ring (abi/page.h), a chunk at a time, into a form that compresses well and is
 * fast to unpack: docs/formats/trace-dat.md.
 *
 * Head words are split. Stamps become differences of 16 bits. The upper halves, and the words
 * behind head words, become indices into tables of the chunk's distinct values. Unpacking gives the
 * same bytes up to a page's commit, and zeros behind it. Costs 3 ns a record to pack, 1 ns to
 * unpack. A packer belongs to one thread; unpacking has no state. Tests:
 * tests/unit/reader/test_page_pack.c.
 */
#ifndef VESTIGE_TOOLS_PAGE_PACK_H
#define VESTIGE_TOOLS_PAGE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "abi/page.h"
#include "tools/area/page_calls.h"

#define PACK_PAGES 32u /* in a chunk, at most */

#define PACK_WORDS (PACK_PAGES * (PAGE_DATA_BYTES / 8))

struct pack_head {
	uint32_t nr_pages;
	uint32_t nr_uppers; /* distinct upper halves of head words */
	uint32_t nr_words;  /* distinct words behind head words */
	uint32_t nr_wide;   /* differences of stamps that take 32 bits */
	uint32_t heads;	    /* of all pages: head words */
	uint32_t behind;    /* words behind them, or behind an invalid word */
	uint64_t reserved;
};

struct pack_page {
	struct page_head head;
	uint16_t heads; /* head words; each says how many words follow it */
	uint16_t rest;	/* words behind the last record */
	uint32_t reserved;
};

/*
 * These arrays follow, with the lengths in the head: words (u64), uppers (u32), wide (u32),
 * differences (u16 for each head word; PACK_WIDE: it is the next one of wide), indices of uppers,
 * indices of words (u8 each if the table has at most 256 entries, else u16).
 */
#define PACK_WIDE 0xffffu

#define PACK_MAX_BYTES                                                                             \
	(sizeof(struct pack_head) + PACK_PAGES * sizeof(struct pack_page) +                        \
	 PACK_WORDS * (8u + 4u + 4u + 2u + 2u + 2u))

struct page_packer;

/* A packer, for one thread. NULL: no memory. */
struct page_packer *page_packer_new(void);
void page_packer_free(struct page_packer *k);

/* Begin a chunk, add pages to it (PAGE_BYTES, aligned to 8), up to PACK_PAGES. */
void page_pack_begin(struct page_packer *k);
void page_pack_add(struct page_packer *k, const void *page);
/* The same of a page of calls, in a third of the time. */
void page_pack_add_calls(struct page_packer *k, const struct page_calls *c);
/*
 * page_pack_end() - finish the chunk.
 * @out: room for PACK_MAX_BYTES, aligned to 8. Return: its size.
 */
size_t page_pack_end(struct page_packer *k, void *out);

/*
 * page_unpack() - unpack the pages of a chunk.
 * @in: untrusted, aligned to 8. @pages: room for @nr_pages of PAGE_BYTES, aligned to 8.
 * Return: 0 or -EINVAL, without fail().
 */
int page_unpack(const void *in, size_t bytes, unsigned int nr_pages, void *pages);

#endif
