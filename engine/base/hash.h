/* SPDX-License-Identifier: MIT */
/* The hashes of tables in memory. */
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

/*
 * hash_byte() - a step of FNV-1a (Fowler, Noll, Vo): add the byte @b to the hash @v. The first step
 * has HASH_BYTES_BEGIN. Any context.
 */
#define HASH_BYTES_BEGIN UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_byte(uint64_t v, uint8_t b)
{
	return (v ^ b) * UINT64_C(0x100000001b3);
}

#endif
