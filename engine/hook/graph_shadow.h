/* SPDX-License-Identifier: MIT */
/*
 * Memory for struct graph_shadow (graph.h): four bytes for each byte of stack on which calls are
 * wrapped, mapped in blocks where it is first needed.
 */
#ifndef VESTIGE_HOOK_GRAPH_SHADOW_H
#define VESTIGE_HOOK_GRAPH_SHADOW_H

#include <stdint.h>

/* The table of what is mapped. Normal context. Return: 0 or -ENOMEM. */
int graph_shadow_start(void);

/*
 * graph_shadow_map() - have a shadow for all slots from @lo up to and with @hi.
 * At any instruction, of any thread: no lock, no libc; mmap() where there is none yet.
 * Return: 1; 0: there is none to be had (somebody else's memory is there, or system calls are fatal).
 */
int graph_shadow_map(uint64_t lo, uint64_t hi);

/* Spread addresses, or what they were shifted to, over a table. */
static inline uint32_t graph_hash(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

#endif
