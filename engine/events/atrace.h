/* SPDX-License-Identifier: MIT */
/*
 * The tags of vestige/atrace.h: whether they are on, and their sites in the text. Under the tree
 * lock.
 */
#ifndef VESTIGE_EVENTS_ATRACE_H
#define VESTIGE_EVENTS_ATRACE_H

#include "engine/base/seq_buf.h"

#define ATRACE_MAX_TAG 64u /* bytes of a name, its NUL included */

/* List the tags, one on a line; a tag that is on is in brackets. */
void atrace_show(struct seq_buf *s);

/*
 * atrace_set() - switch a tag, or those that a pattern matches. A name may be of an object that is
 * not loaded yet. @n: bytes of @pattern. Return: 0; -EINVAL: it is no name, or no tag matches;
 * -ENOMEM; -errno of a change of the text.
 */
int atrace_set(const char *pattern, size_t n, int on);
void atrace_clear(void);
int atrace_any_on(void);

#endif
