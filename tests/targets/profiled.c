/* SPDX-License-Identifier: MIT */
/*
 * profiled CPUS: is profiled while it makes 500 calls of outer(), with 10 of leaf() in each, and 3
 * of rare(), which goes from the first CPU to the last one and sleeps 20 ms; prints
 * trace_stat/functionN of each CPU, a line `==` behind each.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <vestige/vestige.h>

#include "target.h"

static volatile int x;

__attribute__((noinline)) int leaf(int i)
{
	return x + i;
}

__attribute__((noinline)) int outer(int i)
{
	int k, sum = 0;

	for (k = 0; k < 10; k++)
		sum += leaf(i + k);
	return sum + x;
}

static int nr_cpus;

/* Where that CPU is not the process's, it stays where it is. */
NOTRACE static void go_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

__attribute__((noinline)) int rare(int i)
{
	struct timespec t = {0, 20000000};

	go_to(nr_cpus - 1);
	nanosleep(&t, NULL);
	return x + i;
}

static char text[1 << 16];

NOTRACE int main(int argc, char **argv)
{
	int cpus = argc > 1 ? atoi(argv[1]) : 1, i, sum = 0;

	nr_cpus = cpus;
	if (vestige_write("function_profile_enabled", "1", 1) < 0)
		return 3;
	for (i = 0; i < 500; i++)
		sum += outer(i);
	for (i = 0; i < 3; i++) {
		go_to(0);
		sum += rare(i);
	}
	if (vestige_write("function_profile_enabled", "0", 1) < 0)
		return 4;
	for (i = 0; i < 7; i++)
		sum += outer(i);
	for (i = 0; i < cpus; i++) {
		char name[64];
		long n;

		snprintf(name, sizeof(name), "trace_stat/function%d", i);
		n = vestige_read(name, text, sizeof(text) - 1);
		if (n < 0)
			return 5;
		text[n] = 0;
		printf("%s==\n", text);
	}
	return sum == 12345;
}
