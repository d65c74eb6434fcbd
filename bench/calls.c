/* SPDX-License-Identifier: MIT */
/*
 * calls - the cost of a call, measured inside the program, so that its start does not count.
 *
 *	calls leaf|fib|rotate MILLIONS [PARTS]
 *
 * Prints `ns_per_call X ns_rdtsc Y calls N`: the best of PARTS (default: 7), since disturbances
 * only add time. Short parts, of 1000 calls or so, are often not disturbed at all. `rotate` needs
 * rotate.S, made by gen_functions. Built by scripts/bench for each peer: plain, patchable, -pg,
 * XRay, and with -DLTTNG a tracepoint a call.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
#define CALL() lttng_ust_tracepoint(vestige_bench, call)
#else
#define CALL() (void)0
#endif

#define PARTS	 7 /* at least */
#define NOTRACE	 __attribute__((noinline, NO_INSTRUMENT))
#define NOINLINE __attribute__((noinline))
#ifdef __clang__
#define NO_INSTRUMENT patchable_function_entry(0), no_instrument_function, xray_never_instrument
#else
#define NO_INSTRUMENT patchable_function_entry(0), no_instrument_function
#endif

static NOTRACE double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static NOINLINE int leaf(int n)
{
	CALL();
	__asm__ volatile("" : "+r"(n));
	return n;
}

static NOINLINE int fib(int n)
{
	CALL();
	if (n < 2)
		return n;
	return fib(n - 1) + fib(n - 2);
}

#ifdef ROTATE
/* Calls each of ROTATE functions once; in the assembler file. */
void rotate(void);
#else
#define ROTATE 1
static void rotate(void)
{
}
#endif

static NOTRACE double run(const char *what, double millions, double *calls)
{
	double start = now_ns(), n = millions * 1e6;
	long i, rounds;

	if (!strcmp(what, "leaf")) {
		rounds = (long)n;
		for (i = 0; i < rounds; i++)
			leaf((int)i);
		*calls = (double)rounds;
	} else if (!strcmp(what, "fib")) {
		/* fib(24) makes 150,049 calls */
		rounds = (long)(n / 150049) + 1;
		for (i = 0; i < rounds; i++)
			fib(24);
		*calls = (double)rounds * 150049;
	} else {
		rounds = (long)(n / ROTATE) + 1;
		for (i = 0; i < rounds; i++)
			rotate();
		*calls = (double)rounds * ROTATE;
	}
	return now_ns() - start;
}

static NOTRACE double rdtsc_ns(int times)
{
	double start = now_ns();
	int i;

	/*
	 * as in the hook: the two halves are joined, so each read depends on the one before as
	 * there
	 */
	for (i = 0; i < times; i++) {
		uint32_t lo, hi;

		__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
		__asm__ volatile("" : : "r"(lo), "r"(hi));
	}
	return (now_ns() - start) / times;
}

NOTRACE int main(int argc, char **argv)
{
	double best = 1e30, tsc = 1e30, total = 0, calls;
	int i, parts = argc > 3 ? atoi(argv[3]) : PARTS;

	if (argc < 3 || parts < PARTS) {
		fprintf(stderr, "usage: calls leaf|fib|rotate MILLIONS [PARTS]\n");
		return 2;
	}
	run(argv[1], 0.1, &calls);
	for (i = 0; i < parts; i++) {
		double t = run(argv[1], atof(argv[2]) / parts, &calls);
		double r = rdtsc_ns(parts > PARTS ? 1000 : 1000000);

		total += calls;
		if (t / calls < best)
			best = t / calls;
		if (r < tsc)
			tsc = r;
	}
	printf("ns_per_call %.3f ns_rdtsc %.3f calls %.0f\n", best, tsc, total);
	return 0;
}
