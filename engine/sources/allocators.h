/* SPDX-License-Identifier: MIT */
/*
 * Functions that allocate for others (g_malloc(), a program's xmalloc()): an allocation out of one
 * of them is its caller's.
 */
#ifndef VESTIGE_SOURCES_ALLOCATORS_H
#define VESTIGE_SOURCES_ALLOCATORS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/seq_buf.h"

/* Their names as they were written, a blank between two. */
void allocators_show(struct seq_buf *s);

/*
 * allocators_set() - from now on these are the names. @text: @n bytes, blanks between names; no
 * name at all: none counts. Under the tree's lock. Return: 0; -E2BIG: more than 1,023 bytes;
 * -ENOMEM.
 */
int allocators_set(const char *text, size_t n);

/* Objects may have come or gone since: look the names up again. Under the tree's lock. */
int allocators_update(void);

/*
 * allocators_caller() - the first call site outside of them. @site: where the allocation was
 * called. Any context.
 */
uint64_t allocators_caller(uint64_t site);

#endif
