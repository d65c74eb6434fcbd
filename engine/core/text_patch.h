/* SPDX-License-Identifier: MIT */
/*
 * Changes instructions that other threads may be executing.
 *
 * A site is one whole instruction. Its two forms differ in the first byte, or in the first two
 * bytes within one cache line (sites.c). So one store changes it, and a thread executes one form or
 * the other. After a batch, text_sync() makes every CPU that runs a thread of the process drop
 * prefetched code (membarrier SYNC_CORE): then no thread executes the old bytes.
 */
#ifndef VESTIGE_CORE_TEXT_PATCH_H
#define VESTIGE_CORE_TEXT_PATCH_H

#include <stddef.h>
#include <stdint.h>

#define TEXT_LINE_BYTES 64u

/* Whether the two bytes at @p are in one cache line. */
static inline int text_pair_in_line(const void *p)
{
	return ((uintptr_t)p & (TEXT_LINE_BYTES - 1)) != TEXT_LINE_BYTES - 1;
}

/* Whether other threads may run (LIFECYCLE_LIVE). */
int text_is_live(void);

/* Whether pages of text can be changed; does not change them. Return: 0 or -errno. */
int text_try(uint64_t lo, uint64_t hi);

/*
 * text_open() - make the pages writable, at text_at() of their addresses; text_close() - restore
 * their protection. Return: 0; -errno: they are unchanged.
 */
int text_open(uint64_t lo, uint64_t hi);
void text_close(uint64_t lo, uint64_t hi);

/*
 * Give the process its own copies of open pages that will be written, all at once: a page fault for
 * each costs ten times as much, and other threads may be stopped meanwhile. Optional.
 */
void text_back(uint64_t lo, uint64_t hi);

/*
 * text_at() - the address at which the bytes at @p are written, up to the end of the pages that
 * were opened with them: @p, or in a view (text_view.h) if text may not become writable.
 */
void *text_at(void *p);

/*
 * text_seal() - make writable memory of the engine executable. @p: whole pages; @bytes: rounded up.
 * Return: 0 or -errno.
 */
int text_seal(void *p, size_t bytes);

/*
 * text_switch() - store the first bytes, in which two forms of a site differ. @at: the site, in
 * writable text. @bytes: its new form. @n: 5 (one byte is stored) or 6 (two bytes).
 */
void text_switch(uint8_t *at, const uint8_t *bytes, uint32_t n);

/*
 * text_store() - store code of any length up to 8 bytes, within one cache line, by one store. The
 * bytes behind it are written unchanged, so no other thread may write there meanwhile.
 * store: the bytes behind are written as they were, so no other thread may write there meanwhile.
 */
void text_store(uint8_t *at, const uint8_t *bytes, uint32_t n);

/*
 * text_switch_branch() - switch a static branch of the program's code. *@changed: set if the code
 * changed; then call text_sync() after the last one. Return: 0; -EBUSY: its bytes are not the
 * compiler's; -errno of a change of text.
 * Return: 0; -EBUSY: it is not as the compiler left it; -errno of the text.
 */
int text_switch_branch(uint8_t *code, int on, int *changed);

/*
 * text_sync() - see the head. Does nothing before other threads may run. Return: 0 or -errno;
 * -ENOTSUP: the kernel's membarrier cannot do it.
 */
int text_sync(void);

#endif
