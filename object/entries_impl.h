/* SPDX-License-Identifier: MIT */
/* Shared by entries.c (where functions are) and entry_ways.c (how they are reached) alone. */
#ifndef VESTIGE_OBJECT_ENTRIES_IMPL_H
#define VESTIGE_OBJECT_ENTRIES_IMPL_H

#include "object/entries.h"

/* Call back for each landing pad of each function's table of exceptions. */
void entries_landing_pads(struct entries *e, void (*fn)(struct entries *e, uint64_t pad));

/* Words of `blocks`, and the bytes of these with `before`. */
static inline uint64_t entries_block_words(const struct entries *e)
{
	return (e->text_hi - e->text_lo) / (64 * ENTRIES_BLOCK) + 1;
}

static inline size_t entries_blocks_bytes(const struct entries *e)
{
	return entries_block_words(e) * (sizeof(*e->blocks) + sizeof(*e->before));
}

#endif
