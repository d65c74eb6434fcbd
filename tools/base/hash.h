/* SPDX-License-Identifier: MIT */
/* Hashes of tables in memory and of identities. Not for keys that an attacker may choose. */
#ifndef VESTIGE_TOOLS_HASH_H
#define VESTIGE_TOOLS_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * hash_u64() - spread @v over 64 bits by Fibonacci hashing (Knuth, The Art of Computer Programming
 * 3, 6.4). The upper bits are the good ones: shift right before masking.
 */
static inline uint64_t hash_u64(uint64_t v)
{
	return v * UINT64_C(0x9e3779b97f4a7c15);
}

/* hash_pair() - the hash of two numbers. All of its bits are good. Two multiplications. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	uint64_t h = hash_u64(hash_u64(a) ^ b);

	return h ^ h >> 32;
}

/* The hash of zero bytes: the first @h for hash_bytes(). */
#define HASH_BYTES_SEED UINT64_C(0xcbf29ce484222325)

/*
 * hash_bytes() - go on from hash @h with @n bytes: FNV-1a, 64 bits. Part of formats: do not change.
 */
static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		h = (h ^ *p++) * UINT64_C(0x100000001b3);
	return h;
}

#endif
