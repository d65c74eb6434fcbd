/* SPDX-License-Identifier: MIT */
/*
 * Memory for struct graph_shadow (graph.h): four bytes for each byte of stack on which calls are
 * wrapped, mapped in blocks where it is first needed, and unmapped when the stack is.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_SHADOW_H
#define VESTIGE_HOOK_GRAPH_GRAPH_SHADOW_H

#include <stdint.h>

#include "engine/base/hash.h"

/* The table of what is mapped. Normal context. Return: 0 or -ENOMEM. */
int graph_shadow_start(void);

/*
 * graph_shadow_map() - have a shadow for all slots from @lo up to and with @hi.
 * @lo: not below the block (graph_shadow_first()) of the lowest mapped address of the stack: a
 * block of which no address is mapped may be unmapped at any time.
 * At any instruction, of any thread: no lock, no libc; mmap() where there is none yet.
 * Return: 1; 0: there is none (other memory is at its addresses, system calls are fatal, or there
 * is no memory).
 */
int graph_shadow_map(uint64_t lo, uint64_t hi);

/*
 * After graph_shadow_map() of @slot returned 0: whether other memory is at its addresses. Any
 * context.
 */
int graph_shadow_is_taken(uint64_t slot);

/*
 * graph_shadow_keep() - have a shadow for all slots of @lo .. @hi, whatever is mapped there now or
 * later, until the process ends. For threads that may not ask for memory any more.
 * Costs addresses alone until it is used. Normal context. Return: 0; -ENOSPC: too many ranges are
 * kept; -EBUSY: another thread does so just now; -errno of mmap().
 */
int graph_shadow_keep(uint64_t lo, uint64_t hi);

/*
 * graph_shadow_first() - the lowest slot whose shadow is in the same block as the shadow of @slot.
 */
uint64_t graph_shadow_first(uint64_t slot);

/* Spread addresses, or shifted addresses, over a table. */
static inline uint32_t graph_hash(uint64_t key)
{
	return (uint32_t)(hash_u64(key) >> 40);
}

#endif
