/* SPDX-License-Identifier: MIT */
/* See filter_chain.h. Control context. Tests: tests/engine/events/filter. */
#include "engine/events/filter/filter_impl.h"

#include "arch_barrier.h"

#define ALL UINT32_MAX

/*
 * Turn the range of a step, whose values are extended to 64 bits, into a range of 32-bit values.
 * Return: whether there is one that is neither empty nor everything.
 */
static int narrow(const struct filter_step *step, struct filter_term *term)
{
	const uint64_t lowest = step->how == HOW_SIGNED4 ? (uint64_t)INT32_MIN : 0;
	uint64_t from = step->base - lowest, to = from + step->span;
	int wraps = to < from;
	uint64_t first = from, last = to < ALL ? to : ALL;

	if (step->span == UINT64_MAX)
		return 0;
	if (from > ALL) {
		/* the rest of the range begins at the lowest value */
		if (!wraps)
			return 0;
		first = 0;
	} else if (wraps) {
		/* the range has the highest values and the lowest ones */
		last = to >= from - 1 ? from - 1 + ((uint64_t)1 << 32) : to + ((uint64_t)1 << 32);
	}
	if (last - first >= ALL)
		return 0;
	term->base = (uint32_t)first + (uint32_t)lowest;
	term->span = (uint32_t)(last - first);
	return 1;
}

static void invert(struct filter_term *term)
{
	term->base += term->span + 1;
	term->span = (uint32_t)-2 - term->span;
}

/*
 * Where a step leaves the chain: FILTER_TRUE or FILTER_FALSE; another number: the step does not
 * belong to a chain.
 */
static uint32_t exit_of(const struct filter_step *step, uint32_t exit, int *on_true)
{
	*on_true = step->on_true >= FILTER_FALSE &&
		   (step->on_false < FILTER_FALSE || step->on_true == exit);
	return *on_true ? step->on_true : step->on_false;
}

void filter_make_chain(struct event_filter *filter)
{
	struct filter_chain *chain = &filter->chain;
	uint32_t at = filter->first, exit = 0, nr = 0, leaves_to;

	while (at < FILTER_FALSE) {
		const struct filter_step *step = &filter->steps[at];
		struct filter_term *term = &chain->terms[nr];
		int leaves;

		if (nr == FILTER_MAX_TERMS ||
		    (step->how != HOW_SIGNED4 && step->how != HOW_UNSIGNED4))
			return;
		leaves_to = exit_of(step, exit, &leaves);
		if (leaves_to < FILTER_FALSE || (nr && leaves_to != exit) || !narrow(step, term))
			return;
		exit = leaves_to;
		if (step->outside != leaves)
			invert(term);
		term->offset = step->offset;
		at = leaves ? step->on_false : step->on_true;
		nr++;
	}
	if (at == exit)
		return;
	while (nr < FILTER_MAX_TERMS)
		chain->terms[nr++] = (struct filter_term){.span = ALL};
	chain->refuses[1] = exit == FILTER_FALSE;
	chain->refuses[0] = exit == FILTER_TRUE;
}

void filter_chain_set(struct filter_chain *chain, const struct filter_chain *from)
{
	uint32_t i;

	write_seqcount_begin(&chain->gen);
	for (i = 0; from && i < FILTER_MAX_TERMS; i++) {
		store_relaxed(&chain->terms[i].base, from->terms[i].base);
		store_relaxed(&chain->terms[i].span, from->terms[i].span);
		store_relaxed(&chain->terms[i].offset, from->terms[i].offset);
	}
	store_relaxed(&chain->refuses[0], from ? from->refuses[0] : 0);
	store_relaxed(&chain->refuses[1], from ? from->refuses[1] : 0);
	write_seqcount_end(&chain->gen);
}
