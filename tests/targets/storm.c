/* SPDX-License-Identifier: MIT */
/*
 * storm THREADS SIGNALS CALLS [hold]: each thread has a timer of its own, every 12 us; its handlers
 * (two signals, which nest) make CALLS traced calls each, until the thread has had SIGNALS of them.
 * Meanwhile it calls too; with `hold` until the standard input ends. Prints how many calls were
 * made, counted beside each.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static int nr_signals, nr_calls;
static volatile int hold;
static unsigned long total;
static __thread unsigned long made;
static __thread volatile int seen;

static NOINLINE void called(void)
{
	made++;
	__asm__ volatile("");
}

static NOINLINE void called_in_handler(void)
{
	made++;
	__asm__ volatile("");
}

static NOTRACE void handler(int sig)
{
	int i;

	/* a handler that takes longer than its period would starve what it interrupted for ever */
	for (i = 0; i < nr_calls && seen < nr_signals; i++)
		called_in_handler();
	seen++;
	(void)sig;
}

static NOTRACE timer_t start_timer(int sig, long ns)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};
	struct itimerspec t = {{0, ns}, {0, ns}};
	timer_t timer;

	e._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer) || timer_settime(timer, 0, &t, NULL))
		abort();
	return timer;
}

static NOTRACE void *worker(void *arg)
{
	timer_t a = start_timer(SIGRTMIN, 12000), b = start_timer(SIGRTMIN + 1, 17000);
	sigset_t both;
	int i;

	while (seen < nr_signals || hold)
		for (i = 0; i < 100; i++)
			called();
	sigemptyset(&both);
	sigaddset(&both, SIGRTMIN);
	sigaddset(&both, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &both, NULL);
	timer_delete(a);
	timer_delete(b);
	__atomic_fetch_add(&total, made, __ATOMIC_SEQ_CST);
	return arg;
}

NOTRACE int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	int n = argc > 1 ? atoi(argv[1]) : 2, i;
	pthread_t threads[64];

	nr_signals = argc > 2 ? atoi(argv[2]) : 100;
	nr_calls = argc > 3 ? atoi(argv[3]) : 10;
	hold = argc > 4;
	sigaction(SIGRTMIN, &sa, NULL);
	sigaction(SIGRTMIN + 1, &sa, NULL);
	for (i = 0; i < n && i < 64; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	while (hold)
		hold = getchar() != EOF;
	while (i--)
		pthread_join(threads[i], NULL);
	printf("made %lu\n", total);
	return 0;
}
