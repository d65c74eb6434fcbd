/* SPDX-License-Identifier: MIT */
/*
 * Bits in 64-bit words, by number. The stores are plain: a caller that shares a map with other
 * threads has to order them.
 */
#ifndef VESTIGE_BASE_BITMAP_H
#define VESTIGE_BASE_BITMAP_H

#include <stdint.h>

static inline int bitmap_has(const uint64_t *bits, uint32_t i)
{
	return (int)(bits[i / 64] >> (i % 64) & 1);
}

static inline void bitmap_set(uint64_t *bits, uint32_t i)
{
	bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void bitmap_flip(uint64_t *bits, uint32_t i)
{
	bits[i / 64] ^= UINT64_C(1) << (i % 64);
}

#endif
