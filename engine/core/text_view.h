/* SPDX-License-Identifier: MIT */
/*
 * Changes code where no mapping may become both writable and executable (PR_SET_MDWE, a filter as
 * of a unit's MemoryDenyWriteExecute=, a security module): its pages are replaced by a copy in a
 * memfd, and a second mapping writes to that.
 */
#ifndef VESTIGE_CORE_TEXT_VIEW_H
#define VESTIGE_CORE_TEXT_VIEW_H

#include <stdint.h>

/* Whether this error of mprotect() means that memory may not become executable or writable. */
int text_view_is_due(int err);

/*
 * text_view_open() - replace the readable pages @lo .. @hi by an executable copy, and map a
 * writable view of it. Threads may be executing there. Pages that have a view keep it, or get a
 * view that also has these pages. Return: 0; -errno: nothing has changed.
 */
int text_view_open(uint64_t lo, uint64_t hi);

/* Unmap the views with pages of @lo .. @hi; the copies stay. Return: whether there were any. */
int text_view_close(uint64_t lo, uint64_t hi);

/* The address at which the byte at @at is written: in a view, or @at. */
uint64_t text_view_of(uint64_t at);

/* Whether the kernel allows views; nothing is replaced. Return: 0 or -errno. */
int text_view_try(void);

#endif
