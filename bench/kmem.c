/* SPDX-License-Identifier: MIT */
/*
 * What it costs to see malloc() and free(), a mutex, and a system call: prints `NAME NS` a pair of calls, of
 * getppid() one. Short runs of off and on take turns, and of each the tenth part from below counts. With an
 * argument, the number of turns, nothing is switched: as it is, for what other tools do to it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <vestige/vestige.h>

#define RUN    2000
#define ROUNDS 400

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *volatile last;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static double memory(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN; i++) {
		last = malloc(100);
		free(last);
	}
	return (now_ns() - start) / RUN;
}

static double lock(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return (now_ns() - start) / RUN;
}

static double call(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN; i++)
		getppid();
	return (now_ns() - start) / RUN;
}

static void set(const char *file, const char *text)
{
	if (vestige_append(file, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %m\n", file);
}

static const struct {
	const char *off, *on, *file, *other;
	double (*run)(void);
} ways[] = {
	{"malloc", "kmalloc", "events/kmem/enable", NULL, memory},
	{"mutex", "lock", "events/lock/lock_acquired/enable", "events/lock/lock_release/enable",
	 lock},
	{"mutex", "contention", "events/lock/contention_begin/enable",
	 "events/lock/contention_end/enable", lock},
	{"getppid", "syscall", "events/syscalls/sys_enter_getppid/enable",
	 "events/syscalls/sys_exit_getppid/enable", call},
};

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static double ns[NR_WAYS][2][ROUNDS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int round, on, rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	size_t i;

	if (rounds < 1 || rounds > ROUNDS)
		return 2;
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < NR_WAYS; i++) {
			for (on = 0; on < 2; on++) {
				const char *text = on ? "1" : "0";

				if (argc == 1) {
					set(ways[i].file, text);
					if (ways[i].other)
						set(ways[i].other, text);
				}
				ways[i].run();
				ns[i][on][round] = ways[i].run();
			}
			if (argc == 1)
				set(ways[i].file, "0");
			if (argc == 1 && ways[i].other)
				set(ways[i].other, "0");
		}
	}
	for (i = 0; i < NR_WAYS; i++) {
		for (on = 0; on < 2; on++) {
			qsort(ns[i][on], (size_t)rounds, sizeof(double), by_value);
			printf("%s %.2f\n", on ? ways[i].on : ways[i].off, ns[i][on][rounds / 10]);
		}
	}
	return 0;
}
