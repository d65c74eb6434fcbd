/* SPDX-License-Identifier: MIT */
/* Memory for islands at addresses that a jump's fixed bytes dictate. Under the tree lock. */
#ifndef VESTIGE_HOOK_TEXT_TEXT_ALLOC_H
#define VESTIGE_HOOK_TEXT_TEXT_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* A range with at least this number of addresses has room for whole islands. */
#define TEXT_ROOMY UINT64_C(0xffff)

/*
 * text_alloc_get() - get @bytes, less than a page, that begin at @lo .. @hi. @text_lo, @text_hi:
 * the text that leads there, for wide ranges. Return: the address; 0: no address there is free.
 */
uint64_t text_alloc_get(uint64_t lo, uint64_t hi, uint32_t bytes, uint64_t text_lo,
			uint64_t text_hi);
/* Free the memory that text_alloc_get() gave at @at. */
void text_alloc_put(uint64_t at);

/* Write to memory that was taken, while threads run in memory beside it. Return: 0 or -errno. */
int text_alloc_write(uint64_t at, const uint8_t *from, uint32_t bytes);

#endif
