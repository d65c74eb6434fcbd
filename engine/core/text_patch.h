/* SPDX-License-Identifier: MIT */
/*
 * Changing instructions that other threads may be executing.
 *
 * A site is one whole instruction, and the two that it can be differ in the first byte, or in the
 * first two within one cache line (sites.c). So one store changes it, and a thread fetches one or
 * the other. text_sync() behind a batch makes every CPU that runs a thread of ours drop what it has
 * prefetched (membarrier SYNC_CORE): after it no thread enters by what was there before.
 */
#ifndef VESTIGE_CORE_TEXT_PATCH_H
#define VESTIGE_CORE_TEXT_PATCH_H

#include <stdint.h>

#define TEXT_LINE_BYTES 64u

/* Whether the two bytes at @p lie in one cache line. */
static inline int text_pair_in_line(const void *p)
{
	return ((uintptr_t)p & (TEXT_LINE_BYTES - 1)) != TEXT_LINE_BYTES - 1;
}

/* Ask the kernel for text_sync(). Constructor context, while one thread runs. 0 or -errno. */
int text_start(void);

/*
 * From now on other threads may run. Before, text_sync() does nothing; afterwards it fails with
 * -ENOTSUP where the kernel refused text_start().
 */
void text_go_live(void);

/* Make the pages writable, and give them back their protection. Return: 0 or -errno. */
int text_open(uint64_t lo, uint64_t hi);
void text_close(uint64_t lo, uint64_t hi);

/*
 * text_switch() - store the first bytes in which two forms of a site differ.
 * @at: the site, in writable text. @bytes: its new form. @n: 5 (one byte is stored) or 6 (two).
 */
void text_switch(uint8_t *at, const uint8_t *bytes, uint32_t n);

/*
 * text_store() - the same for code of any length up to 8 bytes, which lies in one cache line.
 * One store: what is there behind it is written as it was, so nobody else may write there meanwhile.
 */
void text_store(uint8_t *at, const uint8_t *bytes, uint32_t n);

/* Return: 0 or -errno. */
int text_sync(void);

#endif
