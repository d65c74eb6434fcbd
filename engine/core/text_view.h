/* SPDX-License-Identifier: MIT */
/*
 * Code that changes where no mapping may become writable and executable at once (PR_SET_MDWE, a
 * filter as a unit's MemoryDenyWriteExecute=, a security module): its pages are replaced by a copy
 * in a memfd, which a second mapping writes.
 */
#ifndef VESTIGE_CORE_TEXT_VIEW_H
#define VESTIGE_CORE_TEXT_VIEW_H

#include <stdint.h>

/* Whether the error of mprotect() says that memory may not become executable or writable. */
int text_view_is_due(int err);

/*
 * text_view_open() - replace the pages @lo .. @hi, which can be read, by a copy of them that can be
 * executed, and make a writable view of it. Threads may be executing there. Pages that have a view
 * keep it, or get one that has these pages, too.
 * Return: 0 or -errno: what was there is there.
 */
int text_view_open(uint64_t lo, uint64_t hi);

/* Unmap the views that have pages of @lo .. @hi; the copies stay. Return: whether there were any. */
int text_view_close(uint64_t lo, uint64_t hi);

/* Where the byte at @at is written: in a view, or there. */
uint64_t text_view_of(uint64_t at);

/* Whether the kernel lets us do so; nothing is replaced. Return: 0 or -errno. */
int text_view_try(void);

#endif
