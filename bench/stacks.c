/* SPDX-License-Identifier: MIT */
/*
 * stacks plain|switch|yield MILLIONS - the cost of a call when each call is on another stack than
 * the one before.
 *
 * Two coroutines call the same function in turn. `plain` makes the same number of switches, but to
 * a coroutine that calls nothing, so that the added time can be compared call by call. Prints
 * `ns_per_call X ns_rdtsc Y calls N` as calls.c does, the best of seven parts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PARTS	 7
#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0), no_instrument_function))
#define NOINLINE __attribute__((noinline))

void bench_switch(void **save, void *to);
void bench_start(void);
__asm__(".text\n"
	".p2align 4\n"
	".type bench_switch,@function\n"
	"bench_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size bench_switch,.-bench_switch\n"
	"bench_start:\n"
	"	movq %rbx, %rdi\n"
	"	call *%r12\n"
	"	ud2\n");

static void *there, *back;
static int both;

static NOTRACE double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static NOINLINE int leaf(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

static NOINLINE void yield(void **save, void *to)
{
	bench_switch(save, to);
	__asm__ volatile("");
}

static NOTRACE void yielding(void *arg)
{
	(void)arg;
	for (;;)
		yield(&there, back);
}

static NOTRACE double run_yield(double millions, double *calls)
{
	long n = (long)(millions * 1e6) / 2, i;
	double start = now_ns();

	*calls = (double)n * 2;
	for (i = 0; i < n; i++)
		yield(&back, there);
	return now_ns() - start;
}

static NOTRACE void coroutine(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		if (both)
			leaf(i);
		bench_switch(&there, back);
	}
}

static NOTRACE double run(double millions, double *calls)
{
	long n = (long)(millions * 1e6) / 2, i;
	double start;

	*calls = (double)n * 2;
	start = now_ns();
	for (i = 0; i < n; i++) {
		leaf((int)i);
		if (!both)
			leaf((int)i);
		bench_switch(&back, there);
	}
	return now_ns() - start;
}

static NOTRACE double rdtsc_ns(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < 1000000; i++) {
		uint32_t lo, hi;

		__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
		__asm__ volatile("" : : "r"(lo), "r"(hi));
	}
	return (now_ns() - start) / 1e6;
}

NOTRACE int main(int argc, char **argv)
{
	double best = 1e30, tsc = 1e30, total = 0, calls;
	char *stack = aligned_alloc(4096, 65536);
	void **top = (void **)(stack + 65536 - 64);
	double (*measure)(double, double *) = run;
	int i;

	if (argc != 3 || !stack) {
		fprintf(stderr, "usage: stacks plain|switch|yield MILLIONS\n");
		return 2;
	}
	if (!strcmp(argv[1], "yield"))
		measure = run_yield;
	both = !strcmp(argv[1], "switch");
	*--top = (void *)bench_start;
	*--top = NULL;
	*--top = NULL;
	*--top = measure == run ? (void *)coroutine : (void *)yielding;
	there = top;
	measure(0.1, &calls);
	for (i = 0; i < PARTS; i++) {
		double t = measure(atof(argv[2]) / PARTS, &calls), r = rdtsc_ns();

		total += calls;
		if (t / calls < best)
			best = t / calls;
		if (r < tsc)
			tsc = r;
	}
	printf("ns_per_call %.3f ns_rdtsc %.3f calls %.0f\n", best, tsc, total);
	return 0;
}
