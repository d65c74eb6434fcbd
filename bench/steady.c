/* SPDX-License-Identifier: MIT */
/*
 * steady - a program that calls without end, for measurements from outside.
 *
 *	steady rate N SECONDS	N calls of a leaf a second, in pieces of 1 ms; after a delay it
 *				catches up: `calls C`
 *	steady callback N	a leaf with a callback of the program's: `off_ns X callback_ns Y
 *				rdtsc_ns Z`
 *	steady until		calls of a leaf until a line comes on stdin; says `ready` first
 *	steady made N		N calls of a leaf, then says `ready` and waits for a line on stdin
 *	steady lap N		N calls of a leaf and a little work each, for each line on stdin:
 *				`ns X` of the thread's own CPU time
 *
 * Built by scripts/bench, patchable.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vestige/vestige.h>

#define NOTRACE __attribute__((noinline, patchable_function_entry(0)))
#define PARTS	7

static __attribute__((noinline)) void leaf(void)
{
	__asm__ volatile("");
}

static NOTRACE double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static NOTRACE int rate(double a_second, double seconds)
{
	double begin = now_ns(), elapsed = 0;
	uint64_t made = 0, due;

	while (elapsed < seconds * 1e9) {
		struct timespec nap = {0, 1000000};

		due = (uint64_t)(elapsed * 1e-9 * a_second);
		for (; made < due; made++)
			leaf();
		nanosleep(&nap, NULL);
		elapsed = now_ns() - begin;
	}
	printf("calls %llu seconds %.1f\n", (unsigned long long)made, elapsed * 1e-9);
	return 0;
}

static unsigned long seen;

static NOTRACE void on_call(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			    struct ftrace_regs *fregs)
{
	seen++;
	(void)ip;
	(void)parent_ip;
	(void)op;
	(void)fregs;
}

static NOTRACE double best_ns(int n, int counter)
{
	double best = 1e30, t;
	int part, i;

	for (part = 0; part < PARTS; part++) {
		t = now_ns();
		for (i = 0; i < n; i++) {
			uint32_t lo, hi;

			if (!counter) {
				leaf();
				continue;
			}
			__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
			__asm__ volatile("" : : "r"(lo), "r"(hi));
		}
		t = (now_ns() - t) / n;
		best = t < best ? t : best;
	}
	return best;
}

static NOTRACE int callback(int n)
{
	struct ftrace_ops ops = {.func = on_call};
	double off = best_ns(n, 0), on;

	if (ftrace_set_filter(&ops, "leaf", 4, 1) || register_ftrace_function(&ops))
		return 1;
	on = best_ns(n, 0);
	if (unregister_ftrace_function(&ops) || seen != (unsigned long)n * PARTS)
		return 1;
	printf("off_ns %.2f callback_ns %.2f rdtsc_ns %.2f\n", off, on, best_ns(n, 1));
	return 0;
}

static NOTRACE int until(void)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	int i;

	printf("ready\n");
	fflush(stdout);
	while (!poll(&p, 1, 0))
		for (i = 0; i < 1000; i++)
			leaf();
	return 0;
}

static NOTRACE int made(long n)
{
	for (long i = 0; i < n; i++)
		leaf();
	printf("ready\n");
	fflush(stdout);
	getchar();
	return 0;
}

static NOTRACE int lap(long n)
{
	static volatile unsigned int work;

	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF) {
		struct timespec from, to;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (long i = 0; i < n; i++) {
			leaf();
			for (int k = 0; k < 100; k++)
				work = work * 3 + 1;
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		printf("ns %.0f\n", (double)(to.tv_sec - from.tv_sec) * 1e9 +
					    (double)(to.tv_nsec - from.tv_nsec));
		fflush(stdout);
	}
	return 0;
}

NOTRACE int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "rate"))
		return rate(atof(argv[2]), atof(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "callback"))
		return callback(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "until"))
		return until();
	if (argc == 3 && !strcmp(argv[1], "made"))
		return made(atol(argv[2]));
	if (argc == 3 && !strcmp(argv[1], "lap"))
		return lap(atol(argv[2]));
	fprintf(stderr, "usage: steady rate N SECONDS | callback N | until | made N | lap N\n");
	return 2;
}
