/* SPDX-License-Identifier: MIT */
/* See percentiles.h. */
#include "tools/analysis/percentiles.h"

#include <errno.h>
#include <string.h>

int percentiles_add(struct percentiles *s, uint64_t value)
{
	unsigned int octave = percentiles_octave(value);
	uint64_t **at;

	if (octave >= 64 - SPREAD_BITS) { /* 2^63 and more: no duration */
		octave = 64 - SPREAD_BITS - 1;
		value = UINT64_MAX >> 1;
	}
	at = &s->octave[octave];
	if (!*at) {
		*at = calloc(SPREAD_SUB, sizeof(**at));
		if (!*at)
			return -ENOMEM;
	}
	(*at)[percentiles_sub(value, octave)]++;
	s->nr++;
	return 0;
}

int percentiles_sum(struct percentiles *s, const struct percentiles *from)
{
	for (unsigned int o = 0; o < 64 - SPREAD_BITS; o++) {
		if (!from->octave[o])
			continue;
		if (!s->octave[o])
			s->octave[o] = calloc(SPREAD_SUB, sizeof(**s->octave));
		if (!s->octave[o])
			return -ENOMEM;
		for (unsigned int i = 0; i < SPREAD_SUB; i++)
			s->octave[o][i] += from->octave[o][i];
	}
	s->nr += from->nr;
	return 0;
}

uint64_t percentiles_at(const struct percentiles *s, double percent)
{
	uint64_t rank = (uint64_t)((double)s->nr * percent / 100 + 0.999999), seen = 0;

	if (!rank)
		rank = 1;
	for (unsigned int o = 0; o < 64 - SPREAD_BITS; o++) {
		for (unsigned int i = 0; s->octave[o] && i < SPREAD_SUB; i++) {
			seen += s->octave[o][i];
			if (seen < rank)
				continue;
			if (o < 2)
				return o * SPREAD_SUB + i;
			return ((uint64_t)(SPREAD_SUB + i) << (o - 1)) + (UINT64_C(1) << (o - 2));
		}
	}
	return 0;
}

void percentiles_clear(struct percentiles *s)
{
	for (unsigned int o = 0; o < 64 - SPREAD_BITS; o++)
		free(s->octave[o]);
	memset(s, 0, sizeof(*s));
}
