/* SPDX-License-Identifier: MIT */
/* The hash of tables in memory. */
#ifndef VESTIGE_BASE_HASH_H
#define VESTIGE_BASE_HASH_H

#include <stdint.h>

/*
 * hash_u64() - spread @v over 64 bits by Fibonacci hashing (Knuth, The Art of Computer Programming
 * 3, 6.4). The upper bits are spread best: shift right before masking. Any context.
 */
static inline uint64_t hash_u64(uint64_t v)
{
	return v * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
