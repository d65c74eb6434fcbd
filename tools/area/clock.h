/* SPDX-License-Identifier: MIT */
/*
 * Converts clock units to nanoseconds of CLOCK_MONOTONIC, by pairs of both (struct area_clock).
 *
 * Between two pairs the time is linear. Before the first pair and after the last one the nearest
 * line is extended. A pair that contradicts an earlier one (a clock does not advance) is left out.
 * Of two pairs within 20 ms only the one with the narrower bracket is kept: over a short distance
 * the error of a bracket would change the slope. The result is monotonic. Products are taken in 128
 * bits.
 */
#ifndef VESTIGE_TOOLS_CLOCK_H
#define VESTIGE_TOOLS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/area.h"

/* A straight stretch: ns = ns + ((stamp - stamp0) * mult >> shift). */
struct clock_line {
	uint64_t stamp, ns;
	uint64_t end; /* stamps below this belong to it */
	uint64_t mult;
	unsigned int shift;
};

struct clock {
	struct clock_line *lines; /* ascending */
	size_t nr_lines;
	bool identity;		     /* stamps are nanoseconds, or cannot be converted */
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the last pair, or 0 */
};

/*
 * clock_make() - a clock from pairs; freed with clock_free().
 * @pairs: @nr of them, sorted in place. With less than two usable pairs the clock is the identity.
 * Return: 0 or -ENOMEM with fail() set.
 */
int clock_make(struct clock *c, struct area_clock *pairs, size_t nr);
void clock_free(struct clock *c);

/* From now on convert to units of @ns nanoseconds, rounded down. No effect on the identity. */
void clock_divide(struct clock *c, uint32_t ns);

/* The line for @stamp; NULL when the clock is the identity. Lines are borrowed from the clock. */
const struct clock_line *clock_line_find(const struct clock *c, uint64_t stamp);

/* @stamp in ns along @line, which may be NULL: the identity. */
static inline uint64_t clock_line_ns(const struct clock_line *line, uint64_t stamp)
{
	if (!line)
		return stamp;
	if (stamp >= line->stamp)
		return line->ns +
		       (uint64_t)(((unsigned __int128)(stamp - line->stamp) * line->mult) >>
				  line->shift);
	/* before the first pair */
	uint64_t back =
		(uint64_t)(((unsigned __int128)(line->stamp - stamp) * line->mult) >> line->shift);
	return back < line->ns ? line->ns - back : 0;
}

static inline uint64_t clock_ns(const struct clock *c, uint64_t stamp)
{
	return clock_line_ns(clock_line_find(c, stamp), stamp);
}

/*
 * clock_sample() - take a pair now, with the machine's stamp counter.
 * @best_of: number of tries; the one with the narrowest bracket is used.
 * Return: false on a machine without such a counter.
 */
bool clock_sample(struct area_clock *pair, unsigned int best_of);

/*
 * clock_sample_of() - the same, but it gives the last pair again if @who and @what are as in the
 * last call: so records that are read twice get the same times. Any thread.
 * @who: the process. @what: a hash of the records that are read.
 */
bool clock_sample_of(uint64_t who, uint64_t what, struct area_clock *pair, unsigned int best_of);

/*
 * clock_sample_fits() - were both pairs taken on this machine since its boot? @now was taken just
 * now. Compares the differences to the wall clock, and the rates.
 */
bool clock_sample_fits(const struct area_clock *old, const struct area_clock *now);

#endif
