/* SPDX-License-Identifier: MIT */
/* See digest.h. */
#include "object/digest.h"

#include <string.h>

#define P1 UINT64_C(0x9e3779b185ebca87)
#define P2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define P3 UINT64_C(0x165667b19e3779f9)
#define P4 UINT64_C(0x85ebca77c2b2ae63)
#define P5 UINT64_C(0x27d4eb2f165667c5)

static inline uint64_t rotl(uint64_t v, unsigned int n)
{
	return v << n | v >> (64 - n);
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
	return rotl(lane + word * P2, 31) * P1;
}

static inline uint64_t merge(uint64_t h, uint64_t lane)
{
	return (h ^ mix(0, lane)) * P1 + P4;
}

/* The stripes of 32 bytes. */
static uint64_t of_stripes(uint64_t seed, const uint8_t *p, size_t nr)
{
	uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1, h;

	for (; nr; nr--, p += 32) {
		a = mix(a, word_at(p));
		b = mix(b, word_at(p + 8));
		c = mix(c, word_at(p + 16));
		d = mix(d, word_at(p + 24));
	}
	h = rotl(a, 1) + rotl(b, 7) + rotl(c, 12) + rotl(d, 18);
	return merge(merge(merge(merge(h, a), b), c), d);
}

uint64_t digest(uint64_t seed, const void *bytes, size_t n)
{
	const uint8_t *p = bytes;
	uint64_t h = n >= 32 ? of_stripes(seed, p, n / 32) : seed + P5;
	uint32_t half;

	h += n;
	p += n & ~(size_t)31;
	for (n &= 31; n >= 8; n -= 8, p += 8)
		h = rotl(h ^ mix(0, word_at(p)), 27) * P1 + P4;
	if (n >= 4) {
		memcpy(&half, p, 4);
		h = rotl(h ^ half * P1, 23) * P2 + P3;
		n -= 4;
		p += 4;
	}
	for (; n; n--, p++)
		h = rotl(h ^ *p * P5, 11) * P1;
	h = (h ^ h >> 33) * P2;
	h = (h ^ h >> 29) * P3;
	return h ^ h >> 32;
}
