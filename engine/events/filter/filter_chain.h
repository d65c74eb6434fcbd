/* SPDX-License-Identifier: MIT */
/*
 * The usual filter as a few comparisons, without a program: each tests whether a number of four
 * bytes is in a range. For `a == 1 && b < 5` the first test that fails decides; for `a == 1 || b <
 * 5` the first that holds.
 */
#ifndef VESTIGE_EVENTS_FILTER_FILTER_CHAIN_H
#define VESTIGE_EVENTS_FILTER_FILTER_CHAIN_H

#include <stdint.h>

#include "engine/base/seqcount.h"

/* Whether the four bytes there are in a range, modulo 2^32. */
struct filter_term {
	uint32_t base, span;
	uint32_t offset;
};

#define FILTER_MAX_TERMS 4u

/*
 * It is never freed, so readers need no lock: a reader that finds another `gen` after than before
 * has read nothing, and asks the filter itself.
 */
struct filter_chain {
	uint32_t gen; /* as in seqcount.h */
	/*
	 * by whether a term does not hold: whether the record is dropped. {0, 0}: there is no chain
	 */
	uint32_t refuses[2];
	/* those that are not used hold always */
	struct filter_term terms[FILTER_MAX_TERMS];
};

static inline uint32_t filter_term_fails(const struct filter_term *term, const uint8_t *record)
{
	return *(const uint32_t *)(record + term->offset) - term->base > term->span;
}

/*
 * Whether the chain drops the record. It has only one branch, because the way to it has enough
 * taken branches. Any context.
 */
static inline int filter_chain_refuses(const struct filter_chain *chain, const void *record)
{
	const uint32_t gen = read_seqcount_begin(&chain->gen);
	uint32_t fails, refuses;

	fails = filter_term_fails(&chain->terms[0], record);
	fails |= filter_term_fails(&chain->terms[1], record);
	fails |= filter_term_fails(&chain->terms[2], record);
	fails |= filter_term_fails(&chain->terms[3], record);
	refuses = chain->refuses[fails];
	return (refuses & ~gen & 1) && !read_seqcount_retry(&chain->gen, gen);
}

/* Set the chain. @from: NULL: none. One caller at a time. */
void filter_chain_set(struct filter_chain *chain, const struct filter_chain *from);

#endif
