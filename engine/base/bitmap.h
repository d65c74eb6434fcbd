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

/* @n bits from @i on, 1 to 63, in the low bits of the result. */
static inline uint64_t bitmap_run(const uint64_t *bits, uint64_t i, uint32_t n)
{
	uint64_t run = bits[i / 64] >> (i % 64);

	if (i % 64 + n > 64)
		run |= bits[i / 64 + 1] << (64 - i % 64);
	return run & ((UINT64_C(1) << n) - 1);
}

/* Set or clear @n bits from @i on, 1 to 63. */
static inline void bitmap_put_run(uint64_t *bits, uint64_t i, uint32_t n, int on)
{
	uint64_t run = (UINT64_C(1) << n) - 1, low = run << (i % 64), high;

	bits[i / 64] = on ? bits[i / 64] | low : bits[i / 64] & ~low;
	if (i % 64 + n <= 64)
		return;
	high = run >> (64 - i % 64);
	bits[i / 64 + 1] = on ? bits[i / 64 + 1] | high : bits[i / 64 + 1] & ~high;
}

#endif
