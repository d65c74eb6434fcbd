/* SPDX-License-Identifier: MIT */
/*
 * A filter as a chain of comparisons gives the result of its program, for all ranges and numbers.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "engine/events/filter/filter_impl.h"

#define NR_FIELDS 3u

static uint64_t state_of_random = 88172645463325252u;

static uint64_t random_word(void)
{
	state_of_random ^= state_of_random << 13;
	state_of_random ^= state_of_random >> 7;
	return state_of_random ^= state_of_random << 17;
}

/* Numbers at which something changes, and what lies beside them. */
static uint64_t edge(void)
{
	static const uint64_t edges[] = {0,	     1,		 INT32_MAX,   (uint64_t)INT32_MIN,
					 UINT32_MAX, UINT64_MAX, INT64_MAX,   (uint64_t)INT64_MIN,
					 7,	     1ull << 32, 0x80000000u, 1000};

	return edges[random_word() % (sizeof(edges) / sizeof(*edges))] + random_word() % 3 - 1;
}

/* The program, step by step. */
static int passes(const struct event_filter *filter, const uint32_t *record)
{
	uint32_t at = filter->first;

	while (at < FILTER_FALSE) {
		const struct filter_step *step = &filter->steps[at];
		uint32_t v = record[step->offset / 4];
		uint64_t wide = step->how == HOW_SIGNED4 ? (uint64_t)(int64_t)(int32_t)v : v;

		at = filter_in_range(step, wide) ? step->on_true : step->on_false;
	}
	return at == FILTER_TRUE;
}

/* All of its terms have to hold, or one of them. */
static void fill(struct event_filter *filter, uint32_t nr)
{
	int all = random_word() & 1;

	for (uint32_t i = 0; i < nr; i++) {
		struct filter_step *step = &filter->steps[i];
		uint16_t next = (uint16_t)(i + 1), end = all ? FILTER_TRUE : FILTER_FALSE;
		uint16_t leave = all ? FILTER_FALSE : FILTER_TRUE, stay = i + 1 < nr ? next : end;
		int swapped = random_word() & 1;

		step->how = random_word() & 1 ? HOW_SIGNED4 : HOW_UNSIGNED4;
		step->offset = (uint16_t)(random_word() % NR_FIELDS * 4);
		step->outside = random_word() & 1;
		step->base = edge();
		step->span = random_word() & 1 ? edge() - step->base : random_word() % 3;
		step->on_true = all != swapped ? stay : leave;
		step->on_false = all != swapped ? leave : stay;
	}
}

static void test_chain(void **state)
{
	const size_t bytes = sizeof(struct event_filter) + 5 * sizeof(struct filter_step);
	struct event_filter *filter = malloc(bytes);
	struct filter_chain chain = {0};
	unsigned int chains = 0, refused = 0;

	for (unsigned int round = 0; round < 20000; round++) {
		uint32_t nr = 1 + (uint32_t)(random_word() % 5);

		memset(filter, 0, bytes);
		fill(filter, nr);
		filter_make_chain(filter);
		filter_chain_set(&chain, &filter->chain);
		assert_false(chain.gen & 1);
		chains += chain.refuses[0] || chain.refuses[1];
		for (unsigned int i = 0; i < 20; i++) {
			uint32_t record[NR_FIELDS];

			for (uint32_t k = 0; k < NR_FIELDS; k++)
				record[k] = (uint32_t)edge();
			/* it may know nothing, but not refuse what is wanted, nor miss what it is
			 * for */
			if (filter_chain_refuses(&chain, record))
				assert_false(passes(filter, record));
			else if (chain.refuses[0] || chain.refuses[1])
				assert_true(passes(filter, record));
			refused += (unsigned int)filter_chain_refuses(&chain, record);
		}
		assert_true(nr <= FILTER_MAX_TERMS || !(chain.refuses[0] || chain.refuses[1]));
	}
	assert_true(chains > 3000 && refused > 30000);
	/* while it changes, and when it is none, it refuses nothing */
	filter_chain_set(&chain, NULL);
	assert_false(filter_chain_refuses(&chain, (const uint32_t[NR_FIELDS]){0}));
	chain.refuses[0] = chain.refuses[1] = 1;
	assert_true(filter_chain_refuses(&chain, (const uint32_t[NR_FIELDS]){0}));
	chain.gen++;
	assert_false(filter_chain_refuses(&chain, (const uint32_t[NR_FIELDS]){0}));
	free(filter);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
