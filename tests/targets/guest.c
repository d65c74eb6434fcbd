/* SPDX-License-Identifier: MIT */
/*
 * guest HOW: a program that does to its process what the engine must bear, with calls before and
 * after. Prints `made N`, only by write().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

#define CROWD 200

static unsigned long made;

static NOINLINE void counted(void)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
}

/* bodies that differ, or the compiler makes one function of all */
static NOINLINE void on_cpu0(void)
{
	__asm__ volatile("# cpu 0");
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
}

static NOINLINE void on_cpu1(void)
{
	__asm__ volatile("# cpu 1");
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
}

static NOTRACE void calls(int n)
{
	while (n--)
		counted();
}

static NOTRACE void say(void)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "made %lu\n", made);

	if (write(1, line, (size_t)n) != n)
		abort();
}

static NOTRACE void *thread(void *arg)
{
	calls((int)(long)arg);
	return NULL;
}

static NOTRACE void in_threads(int nr, int at_once, int each)
{
	pthread_t t[64];
	int i, k;

	for (i = 0; i < nr; i += at_once) {
		for (k = 0; k < at_once; k++)
			if (pthread_create(&t[k], NULL, thread, (void *)(long)each))
				abort();
		for (k = 0; k < at_once; k++)
			pthread_join(t[k], NULL);
	}
}

/* Threads that libc makes, one after the other: the engine does not see their start. */
static NOTRACE void in_libc_threads(int nr)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	pthread_t t;

	*(void **)&create = libc ? dlsym(libc, "pthread_create") : NULL;
	if (!create)
		_exit(3);
	while (nr--)
		if (create(&t, NULL, thread, (void *)1L) || pthread_join(t, NULL))
			abort();
}

static int ticks;

static NOTRACE void tick(union sigval value)
{
	calls(value.sival_int);
	__atomic_fetch_add(&ticks, 1, __ATOMIC_RELEASE);
}

static NOTRACE void in_timer_threads(int nr)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD,
				 .sigev_value.sival_int = 1,
				 .sigev_notify_function = tick};
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	timer_t timer;
	int i;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		abort();
	for (i = 1; i <= nr; i++) {
		if (timer_settime(timer, 0, &soon, NULL))
			abort();
		while (__atomic_load_n(&ticks, __ATOMIC_ACQUIRE) < i)
			sched_yield();
	}
	timer_delete(timer);
}

static NOTRACE void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(3);
}

static NOTRACE void *migrate(void *arg)
{
	int i, k;

	for (i = 0; i < (int)(long)arg; i++) {
		run_on(0);
		for (k = 0; k < 1 + i % 7; k++)
			on_cpu0();
		run_on(1);
		for (k = 0; k < 1 + i % 5; k++)
			on_cpu1();
	}
	return NULL;
}

/* All live at once: each waits until every one has called. */
static pthread_barrier_t all_here;

static NOTRACE void *crowd(void *arg)
{
	calls((int)(long)arg);
	pthread_barrier_wait(&all_here);
	calls((int)(long)arg);
	return NULL;
}

static NOTRACE void *strict(void *arg)
{
	calls(10);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		abort();
	calls((int)(long)arg);
	/* all that is left to it */
	syscall(SYS_exit, 0);
	return NULL;
}

NOTRACE int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct rlimit limit;
	pthread_t t, threads[CROWD];
	int i;

	calls(1000);
	if (!strcmp(how, "threads")) {
		in_threads(5000, 20, 50);
	} else if (!strcmp(how, "libc")) {
		in_timer_threads(200);
		in_libc_threads(20000);
	} else if (!strcmp(how, "close")) {
		syscall(SYS_close_range, 3, ~0u, 0);
		calls(100000);
		in_threads(20, 10, 1000);
	} else if (!strcmp(how, "chroot")) {
		if (chroot(argv[2]) || chdir("/"))
			return 3;
		calls(100000);
		in_threads(20, 10, 1000);
	} else if (!strcmp(how, "mlock")) {
		if (mlockall(MCL_CURRENT | MCL_FUTURE))
			return 3;
		calls(100000);
		in_threads(20, 10, 1000);
	} else if (!strcmp(how, "memory")) {
		limit.rlim_cur = limit.rlim_max = 1 << 20;
		if (setrlimit(RLIMIT_AS, &limit))
			return 3;
		calls(100000);
	} else if (!strcmp(how, "migrate")) {
		pthread_create(&t, NULL, migrate, (void *)3000L);
		migrate((void *)3000L);
		pthread_join(t, NULL);
	} else if (!strcmp(how, "crowd")) {
		pthread_barrier_init(&all_here, NULL, CROWD);
		for (i = 0; i < CROWD; i++)
			if (pthread_create(&threads[i], NULL, crowd, (void *)100L))
				abort();
		while (i--)
			pthread_join(threads[i], NULL);
		calls(1000);
	} else if (!strcmp(how, "strict")) {
		pthread_create(&t, NULL, strict, (void *)100000L);
		/* its end by the system call alone is not seen by pthread_join() in time */
		pthread_join(t, NULL);
		calls(1000);
	} else {
		return 2;
	}
	say();
	return 0;
}
