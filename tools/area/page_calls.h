/* SPDX-License-Identifier: MIT */
/*
 * A page that has only RECORD_ENTRY, _TAIL and _EXIT with short steps between them, as most pages
 * of function_graph are, in the 4 bytes a record of the spool's packed form
 * (docs/formats/spool.md). To read it so takes half of the time of unpacking and decoding it.
 */
#ifndef VESTIGE_TOOLS_PAGE_CALLS_H
#define VESTIGE_TOOLS_PAGE_CALLS_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "abi/page.h"
#include "abi/record.h"

/*
 * A word: the kind less RECORD_ENTRY in 2 bits, the id in 14, the step from the stamp before in 16.
 */
#define PAGE_CALLS_STEP_BITS  16
#define PAGE_CALLS_ID_BITS    14
#define PAGE_CALLS_KIND_SHIFT 30
#define PAGE_CALLS_MAX_STEP   0xffffu

static_assert(RECORD_TAIL == RECORD_ENTRY + 1 && RECORD_EXIT == RECORD_ENTRY + 2, "three kinds");

struct page_calls {
	struct page_head head;
	unsigned int nr;		      /* of its records */
	const unsigned char *words;	      /* borrowed until a page of the same CPU is read */
	uint64_t room[(PAGE_BYTES + 64) / 8]; /* for the words, if the source has no other place */
};

static inline uint32_t page_calls_word(const struct page_calls *c, unsigned int i)
{
	uint32_t word;

	memcpy(&word, c->words + 4 * (size_t)i, sizeof(word));
	return word;
}

static inline uint32_t page_calls_step(uint32_t word)
{
	return word & PAGE_CALLS_MAX_STEP;
}

static inline uint32_t page_calls_id(uint32_t word)
{
	return word >> PAGE_CALLS_STEP_BITS & ((1u << PAGE_CALLS_ID_BITS) - 1);
}

/* The upper half of the record's head word. */
static inline uint32_t page_calls_upper(uint32_t word)
{
	static_assert(RECORD_ID_SHIFT == 32, "the id is in the upper half");
	return ((word >> PAGE_CALLS_KIND_SHIFT) + RECORD_ENTRY) << (RECORD_KIND_SHIFT - 32) |
	       page_calls_id(word);
}

#endif
