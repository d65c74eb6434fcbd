/* SPDX-License-Identifier: MIT */
/*
 * timed SECONDS, timed ROUNDSc: makes rounds for SECONDS, or ROUNDS of them (`timed 20c`). In a
 * round known_outer() runs 300 us of its own (by the clock) around two calls of known_inner(), each
 * of 1 ms; then known_quick() is called 100 times. Prints the number of rounds, and two sums of ns
 * as the functions measured them: known_inner()'s, and known_outer()'s own.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static volatile uint64_t x;
static uint64_t inner_ns, outer_ns;

NOTRACE static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NOTRACE static uint64_t spin(uint64_t ns)
{
	uint64_t from = now_ns(), to;

	do
		to = now_ns();
	while (to - from < ns);
	return to - from;
}

__attribute__((noinline)) void known_inner(void)
{
	inner_ns += spin(1000000);
}

__attribute__((noinline)) void known_outer(void)
{
	outer_ns += spin(200000);
	known_inner();
	outer_ns += spin(50000);
	known_inner();
	outer_ns += spin(50000);
}

__attribute__((noinline)) uint64_t known_quick(uint64_t i)
{
	return x + i;
}

NOTRACE int main(int argc, char **argv)
{
	const char *arg = argc > 1 ? argv[1] : "1";
	uint64_t n = strtoull(arg, NULL, 10), end = now_ns() + n * 1000000000u, rounds = 0;
	int by_count = strchr(arg, 'c') != NULL;

	for (; by_count ? rounds < n : now_ns() < end; rounds++) {
		known_outer();
		for (uint64_t i = 0; i < 100; i++)
			x = known_quick(i);
	}
	printf("%llu %llu %llu\n", (unsigned long long)rounds, (unsigned long long)inner_ns,
	       (unsigned long long)outer_ns);
	return 0;
}
