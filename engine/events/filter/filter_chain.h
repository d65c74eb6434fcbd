/* SPDX-License-Identifier: MIT */
/*
 * The usual filter as a few comparisons, without a program: each tests whether a number of four
 * bytes is in a range. For `a == 1 && b < 5` the first test that fails decides; for `a == 1 || b <
 * 5` the first one that holds decides.
 */
#ifndef VESTIGE_EVENTS_FILTER_FILTER_CHAIN_H
#define VESTIGE_EVENTS_FILTER_FILTER_CHAIN_H

#include <stdint.h>

#include "engine/base/seqcount.h"

/* Tests whether the four bytes at offset are in base .. base + span, modulo 2^32. */
struct filter_term {
	uint32_t base, span;
	uint32_t offset;
};

#define FILTER_MAX_TERMS 4u

/*
 * A chain is never freed, so readers need no lock. If `gen` changed while a reader read it, the
 * reader ignores what it read and runs the filter itself.
 */
struct filter_chain {
	uint32_t gen; /* as in seqcount.h */
	/*
	 * indexed by whether any term fails: 1: the record is dropped. {0, 0}: there is no chain
	 */
	uint32_t refuses[2];
	/* unused terms always hold */
	struct filter_term terms[FILTER_MAX_TERMS];
};

static inline uint32_t filter_term_fails(const struct filter_term *term, const uint8_t *record)
{
	return *(const uint32_t *)(record + term->offset) - term->base > term->span;
}

/*
 * Whether the chain drops the record. It is written with only one branch, because there are enough
 * taken branches on the way to it. Any context.
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
