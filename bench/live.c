/* SPDX-License-Identifier: MIT */
/*
 * live - changes while a program runs, measured inside it.
 *
 *	live threads N		each of N pinned threads calls a leaf: `ns_per_call X ns_rdtsc Y`,
 *				the medians over the threads of the best of seven parts
 *	live switch		writes to current_tracer while another thread calls all functions of
 *				rotate.S: `cold_ms X warm_ms Y rss_kb A functions N`
 *
 * Built by scripts/bench, patchable; runs with libvestige preloaded.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vestige/vestige.h>

#define NOTRACE	    __attribute__((noinline, patchable_function_entry(0)))
#define PARTS	    7
#define CALLS	    1000000
#define MAX_THREADS 16
#define SWITCHES    11

/* Calls each of the functions once; in the assembler file. */
void rotate(void);

static pthread_barrier_t barrier;
static volatile int stop;

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

struct result {
	int cpu;
	double call, tsc;
};

static NOTRACE void *measure(void *arg)
{
	struct result *r = arg;
	cpu_set_t set;
	int part, i;

	CPU_ZERO(&set);
	CPU_SET((size_t)r->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	r->call = r->tsc = 1e30;
	for (part = 0; part < PARTS; part++) {
		double t;

		pthread_barrier_wait(&barrier);
		t = now_ns();
		for (i = 0; i < CALLS; i++)
			leaf();
		t = (now_ns() - t) / CALLS;
		r->call = t < r->call ? t : r->call;
		pthread_barrier_wait(&barrier);
		t = now_ns();
		for (i = 0; i < CALLS; i++) {
			uint32_t lo, hi;

			__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
			__asm__ volatile("" : : "r"(lo), "r"(hi));
		}
		t = (now_ns() - t) / CALLS;
		r->tsc = t < r->tsc ? t : r->tsc;
	}
	return NULL;
}

static NOTRACE int threads(int n)
{
	struct result results[MAX_THREADS];
	pthread_t t[MAX_THREADS];
	double call = 0, tsc = 0;
	int i;

	if (n < 1 || n > MAX_THREADS)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned int)n);
	for (i = 0; i < n; i++) {
		results[i].cpu = i;
		pthread_create(&t[i], NULL, measure, &results[i]);
	}
	for (i = 0; i < n; i++) {
		pthread_join(t[i], NULL);
		call += results[i].call / n;
		tsc += results[i].tsc / n;
	}
	printf("ns_per_call %.2f ns_rdtsc %.2f\n", call, tsc);
	return 0;
}

static NOTRACE void *caller(void *arg)
{
	while (!stop)
		rotate();
	return arg;
}

static NOTRACE long rss_kb(void)
{
	long size = 0, pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
		abort();
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static NOTRACE double switch_to(const char *tracer)
{
	double t = now_ns();

	if (vestige_write("current_tracer", tracer, strlen(tracer)) < 0) {
		perror("current_tracer");
		exit(1);
	}
	return (now_ns() - t) / 1e6;
}

static NOTRACE int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static NOTRACE int switches(void)
{
	double cold, warm[SWITCHES];
	char text[64] = "";
	pthread_t t;
	long rss = rss_kb();
	int i;

	pthread_create(&t, NULL, caller, NULL);
	usleep(100000);
	cold = switch_to("function");
	rss = rss_kb() - rss;
	switch_to("nop");
	for (i = 0; i < SWITCHES; i++) {
		usleep(20000);
		warm[i] = switch_to("function");
		usleep(20000);
		switch_to("nop");
	}
	qsort(warm, SWITCHES, sizeof(warm[0]), by_value);
	stop = 1;
	pthread_join(t, NULL);
	vestige_read("dyn_ftrace_total_info", text, sizeof(text) - 1);
	printf("cold_ms %.2f warm_ms %.2f rss_kb %ld functions %ld\n", cold, warm[SWITCHES / 2],
	       rss, atol(text));
	return 0;
}

NOTRACE int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "threads"))
		return threads(atoi(argv[2]));
	if (argc == 2 && !strcmp(argv[1], "switch"))
		return switches();
	fprintf(stderr, "usage: live threads N | live switch\n");
	return 2;
}
