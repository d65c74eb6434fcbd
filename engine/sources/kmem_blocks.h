/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are allocated and not yet released, each with what it belongs to (a call site, a
 * stack), for listeners of kmem.h.
 */
#ifndef VESTIGE_SOURCES_KMEM_BLOCKS_H
#define VESTIGE_SOURCES_KMEM_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct kmem_block {
	uint64_t bytes;	 /* requested, up to 2^40 - 1 */
	uint32_t waste;	 /* usable beyond that, up to 2^24 - 1 */
	uint32_t owner;	 /* below 2^24 */
	uint64_t moment; /* of KMEM_BLOCK_TICK_NS, since kmem_blocks_start() */
};
#define KMEM_BLOCK_TICK_NS 65536u

/* Forget all blocks. Under the tree's lock; threads may go on meanwhile. 0 or -ENOMEM. */
int kmem_blocks_start(void);

/* The moment now. Any context. */
uint64_t kmem_blocks_now(void);

/* A block at @p. Return: 1; 0: there is no room near its place. Any context. */
int kmem_block_add(const void *p, const struct kmem_block *b);

/* Take it out. Return: 1; 0: it is not known. Any context. */
int kmem_block_take(const void *p, struct kmem_block *b);

/* Call @each for every block. Others may come and go meanwhile. */
void kmem_blocks_each(void (*each)(void *arg, const struct kmem_block *b), void *arg);

#endif
