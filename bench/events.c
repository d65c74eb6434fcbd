/* SPDX-License-Identifier: MIT */
/*
 * The cost of an event: prints `NAME NS` for each way, over an empty loop. Short runs of each take
 * turns, and the tenth percentile of each counts, so that other load on the machine meets all
 * alike.
 * -DLTTNG: LTTng's tracepoint with the same two fields in their place.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"
#else
#define CREATE_TRACE_POINTS
#include "events.h"
#include <vestige/atrace.h>
#include <vestige/vestige.h>
#endif

#define RUN    5000
#define ROUNDS 2000

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define WAY(name, body)                                                                            \
	static double name(void)                                                                   \
	{                                                                                          \
		double start = now_ns();                                                           \
                                                                                                   \
		for (int i = 0; i < RUN; i++) {                                                    \
			body;                                                                      \
			__asm__ volatile("" : : "r"(i) : "memory");                                \
		}                                                                                  \
		return (now_ns() - start) / RUN;                                                   \
	}

static volatile unsigned long sink;

WAY(loop, )
WAY(rdtsc, sink = __rdtsc())
#ifdef LTTNG
WAY(lttng, lttng_ust_tracepoint(vestige_bench, two_ints, i, -i))
#else
WAY(off, trace_off(i, -i))
WAY(tag, vestige_begin(bench, "section"))
WAY(on, trace_on(i, -i))
WAY(refused, trace_refused(i, -i))
WAY(passed, trace_passed(i, -i))
WAY(counted, trace_counted(i & 63, -i))
WAY(text, trace_text("a string of some length"))

/* A format that is no constant is printed as text. */
static const char *volatile format = "%d %s\n";
static char printed[64];

WAY(bprint, trace_printk("%d %s\n", i, "word"))
WAY(bputs, trace_printk("constant\n"))
WAY(print, trace_printk(format, i, "word"))
WAY(snprintf_alone, snprintf(printed, sizeof(printed), format, i, "word"))
#endif

static const struct {
	const char *name;
	double (*run)(void);
} ways[] = {
	{"loop", loop},
	{"rdtsc", rdtsc},
#ifdef LTTNG
	{"lttng", lttng},
#else
	{"off", off},
	{"tag", tag},
	{"on", on},
	{"refused", refused},
	{"passed", passed},
	{"counted", counted},
	{"text", text},
	{"bprint", bprint},
	{"bputs", bputs},
	{"print", print},
	{"snprintf", snprintf_alone},
#endif
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static double ns[NR_WAYS][ROUNDS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#ifndef LTTNG
static void set(const char *file, const char *text)
{
	if (vestige_append(file, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %m\n", file);
}
#endif

int main(void)
{
	double empty;

#ifndef LTTNG
	set("set_event", "on refused passed text");
	set("events/bench/refused/filter", "a >= 0 && b <= 0 && a == -1");
	set("events/bench/passed/filter", "a >= 0 && b <= 0 && a != -1");
	set("events/bench/counted/trigger", "hist:keys=a");
#endif
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < NR_WAYS; i++)
			ns[i][round] = ways[i].run();
	for (size_t i = 0; i < NR_WAYS; i++)
		qsort(ns[i], ROUNDS, sizeof(double), by_value);
	empty = ns[0][ROUNDS / 10];
	for (size_t i = 1; i < NR_WAYS; i++)
		printf("%s %.2f\n", ways[i].name, ns[i][ROUNDS / 10] - empty);
	return 0;
}
