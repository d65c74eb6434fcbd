/* SPDX-License-Identifier: MIT */
/*
 * Memory for control paths, where libc's malloc() may not be used: the program may have interposed
 * or traced it, and its locks may be held.
 */
#ifndef VESTIGE_CORE_HEAP_H
#define VESTIGE_CORE_HEAP_H

#include <stddef.h>

/*
 * heap_alloc() - zeroed memory, aligned to 16; free it with heap_free().
 * Return: NULL if there is none. Any thread, not from a hook or a signal handler.
 */
void *heap_alloc(size_t bytes);
void heap_free(void *p);

/* A copy of @n bytes, with a NUL behind it; NULL if there is no memory. */
char *heap_copy(const char *s, size_t n);

/* In a fork's child: nobody holds the heap's lock. */
void heap_fork(void);

#endif
