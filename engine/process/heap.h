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
 * heap_alloc() - get zeroed memory, aligned to 16; free it with heap_free(). Return: NULL: there is
 * none. Any thread, not from a hook or a signal handler.
 */
void *heap_alloc(size_t bytes);
void heap_free(void *p);

/*
 * heap_grow() - make room for one more entry in an array of the heap. @nr: entries in use, of @each
 * bytes. *@room: entries for which there is room (0, with @array NULL: make a new array). A full
 * array is copied to a larger one and freed. Return: the array; NULL: no memory, and @array is
 * unchanged. Same contexts as heap_alloc().
 */
void *heap_grow(void *array, uint32_t nr, uint32_t *room, size_t each);

/* A copy of @n bytes, with a NUL behind it, to be freed with heap_free(); NULL: no memory. */
char *heap_copy(const char *s, size_t n);

/*
 * heap_fork_prepare() - before fork(): wait until no thread changes the heap, and lock it until one
 * of the other heap_fork_ functions is called. @ns: the longest wait. Return: 0; -ETIMEDOUT,
 * -EDEADLK: the heap is not locked.
 */
int heap_fork_prepare(uint64_t ns);
void heap_fork_parent(void);
void heap_fork_child(void);

#endif
