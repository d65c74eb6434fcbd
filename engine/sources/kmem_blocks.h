/* SPDX-License-Identifier: MIT */
/*
 * Blocks that are allocated and not yet released, each with its owner (a call site, a stack), for
 * listeners of kmem.h.
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

/*
 * kmem_blocks_start() - forget all blocks. @site_of: where an owner's blocks were allocated, in any
 * context. Under the tree's lock; threads may go on meanwhile. 0 or -ENOMEM. kmem_blocks_stop():
 * all blocks are forgotten.
 */
int kmem_blocks_start(uint64_t (*site_of)(uint32_t owner));
void kmem_blocks_stop(void);

/* The moment now. Any context. */
uint64_t kmem_blocks_now(void);

/* A block at @p. Return: 1; 0: there is no room near its place. Any context. */
int kmem_block_add(const void *p, const struct kmem_block *b);

/* Take it out. Return: 1; 0: it is not known. Any context. */
int kmem_block_take(const void *p, struct kmem_block *b);

/*
 * Where the block in which @p lies was allocated; 0: none is known, or it begins more than
 * KMEM_BLOCK_BACK bytes before. Any context; up to 100 us.
 */
#define KMEM_BLOCK_BACK (UINT64_C(1) << 20)
uint64_t kmem_block_site(const void *p);

/* Call @each for every block. Others may come and go meanwhile. */
void kmem_blocks_each(void (*each)(void *arg, const struct kmem_block *b), void *arg);

#endif
