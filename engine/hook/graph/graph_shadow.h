/* SPDX-License-Identifier: MIT */
/*
 * Memory for struct graph_shadow (graph.h): four bytes for each byte of stack on which calls are
 * wrapped. It is mapped in blocks when it is first needed, and unmapped after the stack is.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_SHADOW_H
#define VESTIGE_HOOK_GRAPH_GRAPH_SHADOW_H

#include <stdint.h>

#include "engine/base/hash.h"

/* Map the table of blocks. Normal context. Return: 0 or -ENOMEM. */
int graph_shadow_start(void);

/*
 * graph_shadow_map() - map the shadow of all slots from @lo up to and including @hi. @lo: not below
 * the block (graph_shadow_first()) of the lowest mapped address of the stack: a block without any
 * mapped address may be unmapped at any time. At any instruction, in any thread: no lock, no libc;
 * mmap() if it is not mapped yet. Return: 1; 0: it cannot be mapped (other memory is at its
 * addresses, system calls are fatal, or there is no memory).
 */
int graph_shadow_map(uint64_t lo, uint64_t hi);

/*
 * After graph_shadow_map() of @slot returned 0: whether other memory is at its addresses. Any
 * context.
 */
int graph_shadow_is_taken(uint64_t slot);

/*
 * graph_shadow_keep() - map the shadow of all slots of @lo .. @hi until the process ends, whatever
 * is mapped there now or later. For threads that may not map memory any more. Costs only addresses
 * until it is used. Normal context. Return: 0; -ENOSPC: too many ranges are kept; -EBUSY: another
 * thread is doing it now; -errno of mmap().
 */
int graph_shadow_keep(uint64_t lo, uint64_t hi);

/*
 * graph_shadow_first() - the lowest slot whose shadow is in the same block as @slot's.
 */
uint64_t graph_shadow_first(uint64_t slot);

/* Hash of an address, or a shifted address, for a table. */
static inline uint32_t graph_hash(uint64_t key)
{
	return (uint32_t)(hash_u64(key) >> 40);
}

#endif
