/* SPDX-License-Identifier: MIT */
/*
 * Several instances at once: threads and signal handlers call f_one, f_two and f_three, and count
 * each call beside it.
 *
 *	counts THREADS ROUNDS SIGNALS TRACER	instances a b c d beside the top one, see SETS
 *	churn THREADS SECONDS_OR_ROUNDS TURNS	instances come and go TURNS times under the threads
 *	pids THREADS ROUNDS			they begin when a line comes in; each makes one more
 *						thread at its end
 *	fork THREADS ROUNDS			as counts; then a child makes ROUNDS calls of
 *						f_three, and prints `child`
 *
 * Prints `NAME COUNT` for each function, and `tid ID PARENT COUNT...` for each thread.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "vestige/vestige.h"

#define QUIET  __attribute__((noinline, patchable_function_entry(0)))
#define TRACED __attribute__((noinline))

enum { ONE, TWO, THREE, NR };

static __thread uint64_t made[NR];
static uint64_t total[NR];
static volatile int stop;
static uint64_t signals;
static unsigned int rounds;
static int begin_on_line;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

/* One instruction, so that a handler comes before or behind it. */
#define COUNT(what) __asm__ volatile("incq %0" : "+m"(made[what]))

TRACED int f_one(int n)
{
	COUNT(ONE);
	__asm__ volatile("");
	return n + 1;
}

TRACED int f_two(int n)
{
	COUNT(TWO);
	__asm__ volatile("");
	return n + 2;
}

TRACED int f_three(int n)
{
	COUNT(THREE);
	n = f_one(n);
	__asm__ volatile("");
	return n + f_two(n);
}

static QUIET void on_timer(int sig)
{
	int i;

	(void)sig;
	__atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED);
	for (i = 0; i < 20; i++)
		f_three(i);
}

/* Handlers run on a stack of their own: each instance needs a record of each change. */
static QUIET void start_timer(uint64_t ns)
{
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
	struct itimerspec when = {{0, (long)ns}, {0, (long)ns}};
	timer_t timer;

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		abort();
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) || timer_settime(timer, 0, &when, NULL))
		abort();
}

static QUIET void add_counts(int parent)
{
	sigset_t all;
	int i;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_mutex_lock(&lock);
	printf("tid %d %d", (int)syscall(SYS_gettid), parent);
	for (i = 0; i < NR; i++) {
		total[i] += made[i];
		printf(" %lu", (unsigned long)made[i]);
	}
	putchar('\n');
	pthread_mutex_unlock(&lock);
}

static QUIET void *late_worker(void *arg)
{
	unsigned int i;

	for (i = 0; i < rounds; i++)
		f_three((int)i);
	add_counts((int)(intptr_t)arg);
	return NULL;
}

static QUIET void *worker(void *arg)
{
	uint64_t storm = (uint64_t)(uintptr_t)arg;
	unsigned int i;

	if (begin_on_line) {
		pthread_mutex_lock(&lock);
		printf("wait %d\n", (int)syscall(SYS_gettid));
		pthread_mutex_unlock(&lock);
	}
	pthread_barrier_wait(&barrier);
	if (storm)
		start_timer(200000 + 1000 * (uint64_t)(syscall(SYS_gettid) % 16));
	for (i = 0; rounds ? i < rounds : !stop; i++) {
		f_one((int)i);
		f_three((int)i);
	}
	add_counts(0);
	if (begin_on_line) {
		pthread_t late;

		if (pthread_create(&late, NULL, late_worker, (void *)syscall(SYS_gettid)))
			abort();
		pthread_join(late, NULL);
	}
	return NULL;
}

static QUIET void put(const char *instance, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "instances/%s/%s", instance, file);
	if (vestige_write(path, text, strlen(text)) < 0) {
		fprintf(stderr, "%s: %s: %s\n", path, text, strerror(errno));
		exit(2);
	}
}

static const struct {
	const char *name, *file, *text, *tracer;
} sets[] = {
	{"a", "set_ftrace_filter", "f_one", "function"},
	{"b", "set_ftrace_notrace", "f_two", "function"},
	{"c", "set_ftrace_filter", "f_*", "function_graph"},
	{"d", "set_ftrace_filter", "f_three", "function_graph"},
};
#define NR_SETS (sizeof(sets) / sizeof(*sets))

static QUIET void make(size_t i)
{
	if (vestige_instance_create(sets[i].name)) {
		perror(sets[i].name);
		exit(2);
	}
	put(sets[i].name, sets[i].file, sets[i].text);
	put(sets[i].name, "current_tracer", sets[i].tracer);
}

static QUIET void run(unsigned int threads, int storm, unsigned int turns)
{
	pthread_t t[64];
	unsigned int i;

	sigaction(SIGRTMIN, &(struct sigaction){.sa_handler = on_timer, .sa_flags = SA_ONSTACK},
		  NULL);
	pthread_barrier_init(&barrier, NULL, threads + 1);
	for (i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)storm))
			abort();
	if (begin_on_line && getchar() == EOF)
		exit(2);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < turns; i++) {
		size_t k = i % NR_SETS;

		make(k);
		if (i % 3)
			put(sets[k].name, "current_tracer", i % 2 ? "nop" : "function");
		if (i % 5 == 4)
			usleep(1000);
		if (vestige_instance_destroy(sets[k].name)) {
			perror("destroy");
			exit(2);
		}
	}
	stop = 1;
	for (i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
}

static QUIET void run_child(void)
{
	int status, gone;
	pid_t pid = fork();

	if (!pid) {
		made[ONE] = made[TWO] = made[THREE] = 0;
		for (unsigned int i = 0; i < rounds; i++)
			f_three((int)i);
		gone = vestige_write("instances/a/tracing_on", "1", 1) < 0 && errno == ENOENT;
		printf("child %d %lu %d %d\n", (int)getpid(), (unsigned long)made[THREE], gone,
		       vestige_instance_create("of_child"));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("status %d\n", status);
}

int QUIET main(int argc, char **argv)
{
	unsigned int threads = argc > 2 ? (unsigned int)atoi(argv[2]) : 1;
	unsigned int turns = 0;
	int storm = 0;
	size_t i;

	if (argc < 3 || threads > 64)
		return 2;
	setlinebuf(stdout);
	if (!strcmp(argv[1], "counts") || !strcmp(argv[1], "fork")) {
		rounds = (unsigned int)atoi(argv[3]);
		storm = argc > 4 ? atoi(argv[4]) : 0;
		for (i = 0; i < NR_SETS; i++)
			make(i);
		if (argc > 5 && vestige_write("current_tracer", argv[5], strlen(argv[5])) < 0)
			return 2;
	} else if (!strcmp(argv[1], "churn")) {
		storm = atoi(argv[3]);
		turns = (unsigned int)atoi(argv[4]);
	}
	if (!strcmp(argv[1], "pids")) {
		rounds = (unsigned int)atoi(argv[3]);
		begin_on_line = 1;
	}
	run(threads, storm, turns);
	printf("one %lu\ntwo %lu\nthree %lu\nsignals %lu\n", (unsigned long)total[ONE],
	       (unsigned long)total[TWO], (unsigned long)total[THREE], (unsigned long)signals);
	if (!strcmp(argv[1], "fork"))
		run_child();
	return 0;
}
