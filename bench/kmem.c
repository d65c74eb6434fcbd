/* SPDX-License-Identifier: MIT */
/*
 * The cost of events of malloc() and free(), of a mutex, a likely() and a system call: prints `NAME
 * NS` for a pair of calls, for getppid() for one. Short runs of off and on take turns, and the
 * tenth percentile of each counts. With an argument, the number of turns, nothing is switched, to
 * measure other tools. With a second argument there is another thread, which sleeps: in a process
 * with a single thread glibc's locks use no atomic instruction.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <vestige/branch.h>
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

static sigset_t usr1;

static double mask(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN / 2; i++) {
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	}
	return (now_ns() - start) / RUN;
}

static volatile uint64_t *device; /* of a shared page that mmiotrace watches */

static double stores(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN / 100; i++)
		*device = (uint64_t)i;
	return (now_ns() - start) / (RUN / 100);
}

static volatile int condition = 3;

static double branch(void)
{
	double start = now_ns();
	int i;

	for (i = 0; i < RUN; i++)
		if (likely(condition > 2))
			condition = 3;
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
	const char *texts[2]; /* that switch it off and on; NULL: 0 and 1 */
} ways[] = {
	{"malloc", "kmalloc", "events/kmem/enable", NULL, memory, {0}},
	{"malloc", "kmemtrace", "current_tracer", NULL, memory, {"nop", "kmemtrace"}},
	{"malloc", "kmemtrace_stacks", "current_tracer", NULL, memory, {"nop", "kmemtrace"}},
	{"mutex",
	 "lock",
	 "events/lock/lock_acquired/enable",
	 "events/lock/lock_release/enable",
	 lock,
	 {0}},
	{"mutex",
	 "contention",
	 "events/lock/contention_begin/enable",
	 "events/lock/contention_end/enable",
	 lock,
	 {0}},
	{"mutex", "lock_order", "prove_locking", NULL, lock, {0}},
	{"mutex", "preemptoff", "current_tracer", NULL, lock, {"nop", "preemptoff"}},
	{"sigmask", "irqsoff", "current_tracer", NULL, mask, {"nop", "irqsoff"}},
	{"store", "mmiotrace", "current_tracer", NULL, stores, {"nop", "mmiotrace"}},
	{"place", "branch", "options/branch", NULL, branch, {0}},
	{"getppid",
	 "syscall",
	 "events/syscalls/sys_enter_getppid/enable",
	 "events/syscalls/sys_exit_getppid/enable",
	 call,
	 {0}},
};

#define STACKS 2 /* its index */

static const char *text_of(size_t i, int on)
{
	return ways[i].texts[on] ? ways[i].texts[on] : on ? "1" : "0";
}

#define NR_WAYS (sizeof(ways) / sizeof(ways[0]))

static double ns[NR_WAYS][2][ROUNDS];

static void *sleeps(void *arg)
{
	pause();
	return arg;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int round, on, rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;
	pthread_t t;
	size_t i;

	if (argc > 2 && pthread_create(&t, NULL, sleeps, NULL))
		return 2;
	if (rounds < 1 || rounds > ROUNDS)
		return 2;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	device = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (device == MAP_FAILED)
		return 2;
	if (argc == 1 && vestige_watch((void *)(uintptr_t)device, 4096, "device"))
		fprintf(stderr, "vestige_watch: %m\n");
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < NR_WAYS; i++) {
			for (on = 0; on < 2; on++) {
				const char *text = text_of(i, on);

				if (argc == 1) {
					if (i == STACKS)
						set("kmemtrace_stacks", on ? "1" : "0");
					set(ways[i].file, text);
					if (ways[i].other)
						set(ways[i].other, text);
				}
				ways[i].run();
				ns[i][on][round] = ways[i].run();
			}
			if (argc == 1)
				set(ways[i].file, text_of(i, 0));
			if (argc == 1 && i == STACKS)
				set("kmemtrace_stacks", "0");
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
