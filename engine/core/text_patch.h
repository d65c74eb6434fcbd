/* SPDX-License-Identifier: MIT */
/*
 * Changing instructions that other threads may be executing.
 *
 * A site is one whole instruction, and the two that it can be differ in the first byte, or in the
 * first two within one cache line (sites.c). So one store changes it, and a thread fetches one or
 * the other. text_sync() behind a batch makes every CPU that runs a thread of ours drop what it has
 * prefetched (membarrier SYNC_CORE): after it no thread executes the old bytes.
 */
#ifndef VESTIGE_CORE_TEXT_PATCH_H
#define VESTIGE_CORE_TEXT_PATCH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_LINE_BYTES 64u

/* Whether the two bytes at @p lie in one cache line. */
static inline int text_pair_in_line(const void *p)
{
	return ((uintptr_t)p & (TEXT_LINE_BYTES - 1)) != TEXT_LINE_BYTES - 1;
}

/* Whether other threads may run (LIFECYCLE_LIVE). */
int text_is_live(void);

/* Whether they can be changed; nothing of them is touched. Return: 0 or -errno. */
int text_try(uint64_t lo, uint64_t hi);

/*
 * Make the pages writable, at text_at() of their addresses, and give them back their protection.
 * Return: 0 or -errno: they are as before.
 */
int text_open(uint64_t lo, uint64_t hi);
void text_close(uint64_t lo, uint64_t hi);

/*
 * Give the process its own copies of open pages that will be written, all at once: a page fault for
 * each costs ten times as much, and other threads may stand still meanwhile. No duty.
 */
void text_back(uint64_t lo, uint64_t hi);

/*
 * text_at() - where the bytes at @p are written, up to the end of the pages that were opened with
 * them: at @p, or in a view (text_view.h) where text may not become writable.
 */
void *text_at(void *p);

/*
 * text_seal() - memory of ours, writable so far, becomes code. @p: whole pages, @bytes: rounded up.
 * Return: 0 or -errno.
 */
int text_seal(void *p, size_t bytes);

/*
 * text_switch() - store the first bytes in which two forms of a site differ.
 * @at: the site, in writable text. @bytes: its new form. @n: 5 (one byte is stored) or 6 (two).
 */
void text_switch(uint8_t *at, const uint8_t *bytes, uint32_t n);

/*
 * text_store() - the same for code of any length up to 8 bytes, which lies in one cache line. One
 * store: the bytes behind are written as they were, so no other thread may write there meanwhile.
 */
void text_store(uint8_t *at, const uint8_t *bytes, uint32_t n);

/*
 * text_switch_branch() - switch a static branch of the program's code on or off. @changed: set if
 * the code changed; text_sync() is due when all are switched.
 * Return: 0; -EBUSY: it is not as the compiler left it; -errno of the text.
 */
int text_switch_branch(uint8_t *code, int on, int *changed);

/*
 * Before other threads may run it does nothing. Return: 0 or -errno; -ENOTSUP: the kernel has no
 * membarrier for it.
 */
int text_sync(void);

#endif
