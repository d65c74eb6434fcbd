/* SPDX-License-Identifier: MIT */
/* Clock units to nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "tools/area/clock.h"

#define S UINT64_C(1000000000)

static void pairs_are_met_and_joined_by_lines(void **state)
{
	/* 3 GHz, then 2 GHz */
	struct area_clock pairs[] = {{1000 + 5 * S, 12 * S, 13 * S, 100},
				     {1000, 10 * S, 11 * S, 100},
				     {1000 + 3 * S, 11 * S, 12 * S, 100}};
	struct clock c;

	assert_int_equal(clock_make(&c, pairs, 3), 0);
	assert_false(c.identity);
	assert_int_equal(c.realtime_offset_ns, S);
	assert_int_equal(clock_ns(&c, 1000), 10 * S);
	assert_in_range(clock_ns(&c, 1000 + 3 * S), 11 * S - 1, 11 * S);
	assert_in_range(clock_ns(&c, 1000 + 3 * S / 2), 10 * S + S / 2 - 1, 10 * S + S / 2);
	assert_in_range(clock_ns(&c, 1000 + 4 * S), 11 * S + S / 2 - 1, 11 * S + S / 2);
	/* beyond the ends the nearest line goes on */
	assert_in_range(clock_ns(&c, 1000 + 7 * S), 13 * S - 1, 13 * S);
	assert_in_range(clock_ns(&c, 0), 10 * S - 334, 10 * S - 333);
	clock_free(&c);
}

static void a_long_stretch_is_exact(void **state)
{
	/* 2.45 GHz over 40 days */
	uint64_t days = 40 * 86400 * S;
	struct area_clock pairs[] = {{0, S, S, 1}, {days / 100 * 245, S + days, S, 1}};
	struct clock c;

	assert_int_equal(clock_make(&c, pairs, 2), 0);
	for (uint64_t d = 1; d <= 40; d++)
		assert_in_range(clock_ns(&c, d * 86400 * S / 100 * 245), S + d * 86400 * S - 1,
				S + d * 86400 * S);
	clock_free(&c);
}

/* As a recording that was converted has them: the same pairs twice make the same line. */
static void a_pair_counts_once(void **state)
{
	/* less than a stretch apart, the last one best */
	const uint64_t ms = S / 1000;
	struct area_clock pairs[] = {
		{0, S, S, 9}, {6 * ms, S + 2 * ms, S, 8}, {9 * ms, S + 3 * ms, S, 1}};
	struct area_clock twice[6];
	struct clock c, d;

	for (int i = 0; i < 6; i++)
		twice[i] = pairs[i / 2];
	assert_int_equal(clock_make(&c, pairs, 3), 0);
	assert_int_equal(clock_make(&d, twice, 6), 0);
	assert_false(c.identity);
	assert_false(d.identity);
	for (uint64_t at = 0; at < 20 * ms; at += 777777)
		assert_int_equal(clock_ns(&c, at), clock_ns(&d, at));
	/* they are the caller's */
	assert_int_equal(pairs[0].stamp, 0);
	assert_int_equal(pairs[1].stamp, 6 * ms);
	assert_int_equal(twice[5].stamp, 9 * ms);
	clock_free(&c);
	clock_free(&d);
}

static void it_never_goes_back(void **state)
{
	struct area_clock pairs[200];
	uint64_t last = 0, stamp = 5000, ns = S;
	struct clock c;

	srandom(1);
	for (int i = 0; i < 200; i++) {
		pairs[i] = (struct area_clock){stamp, ns, ns, 50};
		stamp += 60000000 + (uint64_t)random() % 100000000;
		ns += 30000000 + (uint64_t)random() % 50000000;
	}
	assert_int_equal(clock_make(&c, pairs, 200), 0);
	for (uint64_t at = 0; at < stamp + S; at += 777777) {
		uint64_t t = clock_ns(&c, at);

		assert_true(t >= last);
		last = t;
	}
	clock_free(&c);
}

static void nonsense_is_left_out(void **state)
{
	struct area_clock pairs[] = {{1000, S, S, 10},
				     {1000, 9 * S, S, 10},     /* the same stamp */
				     {2 * S, S / 2, S, 10},    /* time goes back */
				     {3 * S + 1000, 0, 0, 10}, /* never filled in */
				     {4 * S + 1000, 2 * S, S, 10}};
	struct clock c;

	assert_int_equal(clock_make(&c, pairs, 5), 0);
	assert_int_equal(c.nr_lines, 1);
	assert_in_range(clock_ns(&c, 2 * S + 1000), S + S / 2 - 1, S + S / 2);
	clock_free(&c);
}

static void near_pairs_do_not_bend_the_line(void **state)
{
	/* 1 GHz; the second pair is 10 us wrong, 1 ms after the first */
	struct area_clock pairs[] = {
		{0, S, S, 100}, {1000000, S + 1010000, S, 90000}, {S, 2 * S, S, 100}};
	struct clock c;

	assert_int_equal(clock_make(&c, pairs, 3), 0);
	assert_in_range(clock_ns(&c, 2000000), S + 1999999, S + 2000001);
	clock_free(&c);
}

static void one_pair_is_no_way(void **state)
{
	struct area_clock pair = {1000, S, 2 * S, 10};
	struct clock c;

	assert_int_equal(clock_make(&c, &pair, 1), 0);
	assert_true(c.identity);
	assert_int_equal(clock_ns(&c, 12345), 12345);
	assert_int_equal(c.realtime_offset_ns, S);
	clock_free(&c);
	assert_int_equal(clock_make(&c, NULL, 0), 0);
	assert_true(c.identity);
	clock_free(&c);
}

static void hostile_pairs(void **state)
{
	struct area_clock pairs[] = {
		{0, 1, 1, 0}, {1, UINT64_MAX / 2, 1, 0}, {UINT64_MAX, UINT64_MAX, 0, UINT64_MAX}};
	struct clock c;

	assert_int_equal(clock_make(&c, pairs, 3), 0);
	clock_ns(&c, UINT64_MAX);
	clock_ns(&c, UINT64_MAX / 3);
	clock_free(&c);
}

static void samples_agree_with_the_clock(void **state)
{
	struct timespec pause = {0, 50000000}, now;
	struct area_clock pairs[2], third, old;
	struct clock c;
	uint64_t ns;

	if (!clock_sample(&pairs[0], 200))
		skip();
	nanosleep(&pause, NULL);
	clock_sample(&pairs[1], 200);
	old = pairs[0];
	assert_true(clock_sample_fits(&old, &pairs[1]));
	assert_false(clock_sample_fits(&pairs[1], &old));
	third = pairs[1];
	third.real_ns += 100 * S; /* another boot: the wall clock is elsewhere */
	assert_false(clock_sample_fits(&old, &third));
	assert_int_equal(clock_make(&c, pairs, 2), 0);
	clock_sample(&third, 200);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = clock_ns(&c, third.stamp);
	/* a noisy machine: the claim is that it is the same clock, to 100 us */
	assert_in_range(ns, third.mono_ns - 100000, third.mono_ns + 100000);
	clock_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_are_met_and_joined_by_lines),
		cmocka_unit_test(a_long_stretch_is_exact),
		cmocka_unit_test(a_pair_counts_once),
		cmocka_unit_test(it_never_goes_back),
		cmocka_unit_test(nonsense_is_left_out),
		cmocka_unit_test(near_pairs_do_not_bend_the_line),
		cmocka_unit_test(one_pair_is_no_way),
		cmocka_unit_test(hostile_pairs),
		cmocka_unit_test(samples_agree_with_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
