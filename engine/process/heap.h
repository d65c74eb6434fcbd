/* SPDX-License-Identifier: MIT */
/*
 * Memory for control paths, where libc's malloc() may not be used: the program may have interposed
 * or traced it, and its locks may be held.
 */
#ifndef VESTIGE_PROCESS_HEAP_H
#define VESTIGE_PROCESS_HEAP_H

#include <stddef.h>
#include <stdint.h>

/*
 * heap_alloc() - zeroed memory, aligned to 16; free it with heap_free().
 * Return: NULL if there is none. Any thread, not from a hook or a signal handler.
 */
void *heap_alloc(size_t bytes);
void heap_free(void *p);

/*
 * heap_grow() - have room for one more in an array of the heap: @nr entries of @each bytes, of
 * which there is room for *@room (0, with @array NULL, for a new array). A full array is copied to
 * a larger one and freed. Return: the array; NULL: no memory, and @array is as it was. Same
 * contexts as heap_alloc().
 */
void *heap_grow(void *array, uint32_t nr, uint32_t *room, size_t each);

/* A copy of @n bytes, with a NUL behind it; NULL if there is no memory. */
char *heap_copy(const char *s, size_t n);

/*
 * heap_fork_prepare() - before fork(): wait until no thread changes the heap, and keep all out
 * until one of the other heap_fork_ functions is called. @ns: the longest wait. Return: 0;
 * -ETIMEDOUT, -EDEADLK: the heap is not locked.
 */
int heap_fork_prepare(uint64_t ns);
void heap_fork_parent(void);
void heap_fork_child(void);

#endif
