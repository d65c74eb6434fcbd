/* SPDX-License-Identifier: MIT */
/*
 * Ranges of islands (hook/text/range_tree.h): as a map of bytes says, whatever comes and goes, and
 * with few steps where there are many.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/hook/text/range_tree.h"

#define BASE  UINT64_C(0x10000)
#define BYTES 8192u
#define PAGE  256u

enum { ABSENT, FREE, TAKEN };

static uint8_t model[BYTES];
static uint32_t seed = 1;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

/* The lowest place by the map of bytes; 0: none. */
static uint64_t first_place(uint32_t lo, uint32_t hi, uint32_t bytes)
{
	uint32_t at, k;

	for (at = lo; at <= hi && at + bytes <= BYTES; at++) {
		for (k = 0; k < bytes && model[at + k] == FREE; k++)
			;
		if (k == bytes)
			return BASE + at;
	}
	return 0;
}

static void add_one(struct range_tree *t)
{
	uint32_t at = any(BYTES / PAGE) * PAGE;

	if (range_tree_has(t, BASE + at))
		return;
	assert_int_equal(range_tree_add(t, BASE + at, BASE + at + PAGE, 0), 0);
	memset(model + at, FREE, PAGE);
}

static void test_as_a_map(void **state)
{
	struct range_tree t = {0};
	uint64_t taken[512];
	uint32_t lengths[512], nr = 0, i, k;

	for (i = 0; i < 40000; i++) {
		uint32_t what = any(8);

		if (!what) {
			add_one(&t);
		} else if (what < 5 && nr < 512) {
			uint32_t lo = any(BYTES), hi = lo + any(any(2) ? 1 : BYTES);
			uint32_t bytes = 1 + any(any(2) ? 5 : 208);
			uint64_t want = first_place(lo, hi, bytes);
			uint64_t got = range_tree_take(&t, BASE + lo, BASE + hi, bytes, 1);

			assert_int_equal(got, want);
			if (!got)
				continue;
			memset(model + (got - BASE), TAKEN, bytes);
			taken[nr] = got;
			lengths[nr++] = bytes;
		} else if (nr) {
			k = any(nr);
			range_tree_give(&t, taken[k]);
			range_tree_give(&t, taken[k]); /* twice does nothing */
			memset(model + (taken[k] - BASE), FREE, lengths[k]);
			taken[k] = taken[--nr];
			lengths[k] = lengths[nr];
		}
		k = any(BYTES);
		assert_int_equal(range_tree_has(&t, BASE + k), model[k] != ABSENT);
	}
}

static void test_narrow_is_kept(void **state)
{
	struct range_tree t = {0};
	uint64_t at;

	/* wherever in the tree a narrow one is, the next wide one is found */
	for (at = 0x10000; at < 0x50000; at += 0x2000)
		assert_int_equal(range_tree_add(&t, at, at + 0x1000, !(at & 0x2000)), 0);
	for (at = 0x12000; at < 0x50000; at += 0x4000)
		assert_int_equal(range_tree_take(&t, 0, 0x50000, 0x1000, 0), at);
	assert_int_equal(range_tree_take(&t, 0, 0x50000, 16, 0), 0);
	t = (struct range_tree){0};
	assert_int_equal(range_tree_add(&t, 0x1000, 0x2000, 1), 0);
	assert_int_equal(range_tree_add(&t, 0x8000, 0x9000, 0), 0);
	assert_int_equal(range_tree_take(&t, 0, 0x10000, 16, 0), 0x8000);
	assert_int_equal(range_tree_take(&t, 0, 0x10000, 16, 1), 0x1000);
	/* two that touch are one, and narrow */
	assert_int_equal(range_tree_add(&t, 0x9000, 0xa000, 1), 0);
	assert_int_equal(range_tree_take(&t, 0, 0x10000, 16, 0), 0);
	assert_int_equal(range_tree_take(&t, 0x8ff8, 0x8ff8, 16, 1), 0x8ff8);
}

/*
 * What 10,000 probes on instructions of one byte ask for: each a landing at one address alone, in a
 * page of its own mostly, and an island anywhere.
 */
#define NR_PROBES 10000u

static void test_few_steps(void **state)
{
	struct range_tree t = {0};
	uint64_t steps, most = 0, at;
	uint32_t i;

	for (i = 0; i < NR_PROBES; i++) {
		steps = t.nr_steps;
		at = BASE + (uint64_t)any(1u << 24) * 16;
		if (!range_tree_has(&t, at))
			assert_int_equal(range_tree_add(&t, at & ~UINT64_C(4095),
							(at & ~UINT64_C(4095)) + 4096, 1),
					 0);
		range_tree_take(&t, at, at, 5, 1);
		at = range_tree_take(&t, UINT64_C(1) << 40, UINT64_MAX - 4096, 208, 0);
		if (!at) {
			uint64_t lo = (UINT64_C(1) << 40) + (uint64_t)i * 0x20000;

			assert_int_equal(range_tree_add(&t, lo, lo + 65536, 0), 0);
			at = range_tree_take(&t, lo, UINT64_MAX - 4096, 208, 0);
		}
		assert_true(at);
		steps = t.nr_steps - steps;
		if (steps > most)
			most = steps;
	}
	/* 12 ways down a tree that is 20 deep on average */
	assert_in_range(t.nr_steps / NR_PROBES, 20, 400);
	assert_in_range(most, 20, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_a_map),
		cmocka_unit_test(test_narrow_is_kept),
		cmocka_unit_test(test_few_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
