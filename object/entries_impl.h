/* SPDX-License-Identifier: MIT */
/*
 * For entries.c (where functions are), entry_ways.c (how they are redirected) and ways_file.c
 * (results in a file) only.
 */
#ifndef VESTIGE_OBJECT_ENTRIES_IMPL_H
#define VESTIGE_OBJECT_ENTRIES_IMPL_H

#include "object/entries.h"

#define ENTRY_ENDBR_BYTES 4u

/* entries_open() without the functions: the file's head, and where its code is. */
int entries_open_image(struct entries *e, const uint8_t *file, uint64_t bytes,
		       void *(*get)(size_t bytes), void (*put)(void *p, size_t bytes));

/* The symbol tables to read: at most one of each kind. Return: their number. */
uint32_t entries_symbol_tables(const struct elf_image *image, Elf64_Shdr tables[2]);

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
