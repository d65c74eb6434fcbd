/* SPDX-License-Identifier: MIT */
/* The program's allocations: calls of malloc() and its kind, from any object. */
#ifndef VESTIGE_SOURCES_KMEM_H
#define VESTIGE_SOURCES_KMEM_H

#include <stddef.h>

#include "engine/sources/source.h"

/*
 * An allocation was made by the code at @site. @p: NULL: it failed. @zeroed: calloc() or the like
 * made it.
 */
struct kmem_alloc_listener {
	struct source_link link;
	void (*call)(uint64_t site, void *p, size_t bytes, int zeroed);
};
extern struct source kmem_allocs;

/* A release is about to be made. @p: may be NULL, too. */
struct kmem_free_listener {
	struct source_link link;
	void (*call)(uint64_t site, const void *p);
};
extern struct source kmem_frees;

/* malloc_usable_size() of the program's allocator; NULL: it has no such function. */
extern size_t (*kmem_usable_size)(void *);

/* The size of the block at @p in bytes; @bytes if that is not known. Any context. */
static inline size_t kmem_usable(void *p, size_t bytes)
{
	size_t (*usable)(void *) = kmem_usable_size;

	return usable ? usable(p) : bytes;
}

#endif
