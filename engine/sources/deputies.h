/* SPDX-License-Identifier: MIT */
/*
 * Functions that call libc for others: g_malloc() or a program's xmalloc(), which allocate, a
 * program's own mutex_init(). A call of libc from one of them counts as its caller's.
 */
#ifndef VESTIGE_SOURCES_DEPUTIES_H
#define VESTIGE_SOURCES_DEPUTIES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/seq_buf.h"

struct deputies {
	char names[1024]; /* as they were written, a blank between two; each may be a pattern */
	struct deputy_ranges *ranges; /* NULL: not looked up yet */
};

extern struct deputies allocators; /* of malloc() and its kind */
extern struct deputies lockers;	   /* of functions that make or take a lock */

/* The names. */
void deputies_show(const struct deputies *d, struct seq_buf *s);

/*
 * deputies_set() - from now on these are the names. @text: @n bytes, blanks between names; no
 * name at all: none counts. Under the tree's lock. Return: 0; -E2BIG: more than 1,023 bytes;
 * -ENOMEM.
 */
int deputies_set(struct deputies *d, const char *text, size_t n);

/* Objects may have come or gone since: look the names up again. Under the tree's lock. */
int deputies_update(struct deputies *d);

/*
 * deputies_caller() - the first call site outside of them. @site: where libc was called. Any
 * context.
 */
uint64_t deputies_caller(const struct deputies *d, uint64_t site);

#endif
