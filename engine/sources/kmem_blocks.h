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
	uint64_t moment; /* in KMEM_BLOCK_TICK_NS since kmem_blocks_start() */
};
#define KMEM_BLOCK_TICK_NS 65536u

/*
 * kmem_blocks_start() - begin with an empty table. @site_of: gives the call site that allocated an
 * owner's blocks; in any context. Under the tree lock; other threads may call the functions below
 * meanwhile. Return: 0 or -ENOMEM. kmem_blocks_stop() - forget all blocks.
 */
int kmem_blocks_start(uint64_t (*site_of)(uint32_t owner));
void kmem_blocks_stop(void);

/* The time now, as kmem_block.moment. Any context. */
uint64_t kmem_blocks_now(void);

/* Add a block at @p. Return: 1; 0: there is no room near its bucket. Any context. */
int kmem_block_add(const void *p, const struct kmem_block *b);

/* Remove the block at @p and copy it to @b. Return: 1; 0: it is not known. Any context. */
int kmem_block_take(const void *p, struct kmem_block *b);

/*
 * The call site that allocated the block in which @p lies; 0: no block is known, or it begins more
 * than KMEM_BLOCK_BACK bytes before @p. Any context; takes up to 100 us.
 */
#define KMEM_BLOCK_BACK (UINT64_C(1) << 20)
uint64_t kmem_block_site(const void *p);

/* Call @each for every block. Other threads may add and remove blocks meanwhile. */
void kmem_blocks_each(void (*each)(void *arg, const struct kmem_block *b), void *arg);

#endif
