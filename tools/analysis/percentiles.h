/* SPDX-License-Identifier: MIT */
/*
 * A histogram of durations. Each power of two has 32 buckets, so the error of a percentile is at
 * most 1.6 % (none below 64). Memory: 256 bytes for each power of two in which there is a value.
 * Tests: tests/unit/test_call_tree.c.
 */
#ifndef VESTIGE_TOOLS_PERCENTILES_H
#define VESTIGE_TOOLS_PERCENTILES_H

#include <stdint.h>
#include <stdlib.h>

#define SPREAD_BITS 5
#define SPREAD_SUB  (1u << SPREAD_BITS)

/* All zero: empty. */
struct percentiles {
	uint64_t nr;
	uint64_t *octave[64 - SPREAD_BITS]; /* SPREAD_SUB counts each, NULL none */
};

/* Values below 2 * SPREAD_SUB have buckets of their own, in the first two octaves. */
static inline unsigned int percentiles_octave(uint64_t value)
{
	return value < SPREAD_SUB ? 0
				  : (unsigned int)(63 - __builtin_clzll(value)) - SPREAD_BITS + 1;
}

static inline unsigned int percentiles_sub(uint64_t value, unsigned int octave)
{
	return (unsigned int)(octave ? value >> (octave - 1) : value) & (SPREAD_SUB - 1);
}

/* Add one value. Return: 0 or -ENOMEM. */
int percentiles_add(struct percentiles *s, uint64_t value);

/* The same, fast if there is memory for the octave. */
static inline int percentiles_count(struct percentiles *s, uint64_t value)
{
	unsigned int octave = percentiles_octave(value);
	uint64_t *at = octave < 64 - SPREAD_BITS ? s->octave[octave] : NULL;

	if (!at)
		return percentiles_add(s, value);
	at[percentiles_sub(value, octave)]++;
	s->nr++;
	return 0;
}

/* Add the counts of @from. Return: as percentiles_add(). */
int percentiles_sum(struct percentiles *s, const struct percentiles *from);

/* The value that @percent of the values do not exceed: the middle of its bucket. 0 when empty. */
uint64_t percentiles_at(const struct percentiles *s, double percent);
void percentiles_clear(struct percentiles *s);

#endif
