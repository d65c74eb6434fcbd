/* SPDX-License-Identifier: MIT */
/*
 * From clock units to nanoseconds of CLOCK_MONOTONIC, through pairs of both (struct area_clock).
 *
 * Between two pairs the way is a straight line, before the first and after the last the line of
 * the nearest stretch goes on. Pairs that contradict an earlier one (not both clocks advance) or
 * lie within 20 ms of it are left out, the narrower bracket staying: over a short stretch the error
 * of a bracket would bend the line. The result is monotonic. Products are taken in 128 bits.
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
	bool identity;		     /* stamps are nanoseconds, or there is no way to them */
	uint64_t realtime_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC of the last pair, or 0 */
};

/*
 * clock_make() - the way to nanoseconds.
 * @pairs: is sorted in place. @nr: how many; below two usable ones the clock has no lines and is
 * the identity.
 * Return: 0 or -ENOMEM with fail() set.
 */
int clock_make(struct clock *c, struct area_clock *pairs, size_t nr);
void clock_free(struct clock *c);

/* clock_divide() - from now on in units of @ns nanoseconds, rounded down; of the identity: no
 * change. */
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
 * clock_sample() - a pair taken now, of the machine's stamp counter.
 * @best_of: tries; the one with the narrowest bracket is kept.
 * Return: false on a machine without such a counter.
 */
bool clock_sample(struct area_clock *pair, unsigned int best_of);

/*
 * clock_sample_of() - the same, but it gives the last pair again as long as @who (the process) and
 * @what (a hash of the records that are read) are the same: so records that are read twice have the
 * same times. Any thread.
 */
bool clock_sample_of(uint64_t who, uint64_t what, struct area_clock *pair, unsigned int best_of);

/*
 * clock_sample_fits() - does a pair of this moment continue @old, that is: were both taken on this
 * machine since it was started? Compares the two clocks' differences to the wall clock, and their
 * rates.
 */
bool clock_sample_fits(const struct area_clock *old, const struct area_clock *now);

#endif
