/* SPDX-License-Identifier: MIT */
/*
 * Changing instructions that other threads may be executing.
 *
 * A site is one instruction of five or six bytes, before and after. It is changed in three steps,
 * each for a whole batch of sites, with text_sync() behind each:
 *
 *	TEXT_FIRST	the first two bytes become a short jump over the rest: one 2-byte store
 *	TEXT_REST	bytes 2.. of the new instruction: nobody executes them now
 *	TEXT_LAST	the first two bytes of the new instruction: one 2-byte store
 *
 * text_sync() makes every CPU that runs a thread of ours drop what it has prefetched
 * (membarrier SYNC_CORE), so a thread is always before, at, or behind a whole instruction.
 *
 * The 2-byte store is one for the fetching CPU only within a cache line. A site that straddles is
 * therefore kept in such a form that one byte alone decides: off `eb 03 ...`, a jump over the rest,
 * on `e8 03 ...`, a call whose lowest displacement byte is the same. The same three steps do it.
 */
#ifndef VESTIGE_HOOK_TEXT_PATCH_H
#define VESTIGE_HOOK_TEXT_PATCH_H

#include <stdint.h>

#define TEXT_LINE_BYTES 64u

/* Whether the two bytes at @p lie in one cache line. */
static inline int text_pair_in_line(const void *p)
{
	return ((uintptr_t)p & (TEXT_LINE_BYTES - 1)) != TEXT_LINE_BYTES - 1;
}

enum text_step {
	TEXT_FIRST,
	TEXT_REST,
	TEXT_LAST,
};

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

/* One step of one site. @bytes: the new instruction. @n: 5 or 6. */
void text_step(uint8_t *at, const uint8_t *bytes, uint32_t n, enum text_step step);

/* Return: 0 or -errno; on failure the sites of the batch stay jumps over themselves. */
int text_sync(void);

#endif
