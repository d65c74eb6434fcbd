/* SPDX-License-Identifier: MIT */
/*
 * Deputies: functions that call libc for their callers, such as g_malloc() or a program's
 * xmalloc(), which allocate, or a program's own mutex_init(). A call of libc from one of them
 * counts as its caller's.
 */
#ifndef VESTIGE_SOURCES_DEPUTIES_H
#define VESTIGE_SOURCES_DEPUTIES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/seq_buf.h"

struct deputies {
	char names[1024]; /* as they were written, separated by blanks; each may be a pattern */
	struct deputy_ranges *ranges; /* NULL: not looked up yet */
};

extern struct deputies allocators; /* deputies of malloc() and its kind */
extern struct deputies lockers;	   /* deputies of functions that make or take a lock */

/* Put the names. */
void deputies_show(const struct deputies *d, struct seq_buf *s);

/*
 * deputies_set() - replace the names. @text: @n bytes, blanks between names; without a name there
 * is no deputy. Under the tree lock. Return: 0; -E2BIG: more than 1,023 bytes; -ENOMEM.
 */
int deputies_set(struct deputies *d, const char *text, size_t n);

/*
 * Look the names up again, as objects may have come or gone. Under the tree lock. Return: 0 or
 * -ENOMEM.
 */
int deputies_update(struct deputies *d);

/*
 * deputies_caller() - find the first call site outside of the deputies. @site: the caller of libc.
 * Any context. Return: its address.
 */
uint64_t deputies_caller(const struct deputies *d, uint64_t site);

#endif
