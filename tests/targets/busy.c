/* SPDX-License-Identifier: MIT */
/*
 * busy THREADS: threads that call, check each result, and take a signal every 50 us whose handler
 * calls too, until a line comes on stdin. Ends with 0 when every result was right.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static volatile int stop;
static volatile double factor = 1.5; /* not a constant: no clone of the function */

static NOINLINE long integer(long x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 3 + 1;
}

static NOINLINE long outer(long x)
{
	__asm__ volatile("" : "+r"(x));
	return integer(x) + 7;
}

static NOINLINE double floating(double a, double b, long x)
{
	__asm__ volatile("" : "+r"(x));
	return a * b + (double)x;
}

static NOINLINE void in_handler(void)
{
	__asm__ volatile("");
}

static void handler(int sig)
{
	int i;

	for (i = 0; i < 50; i++)
		in_handler();
	(void)sig;
}

static void *worker(void *arg)
{
	long i, n = 0;

	while (!stop) {
		for (i = 0; i < 1000; i++, n++) {
			if (outer(i) != i * 3 + 8)
				abort();
			if (floating(factor, 2 * factor, i) != 4.5 + (double)i)
				abort();
		}
	}
	(void)arg;
	return (void *)n;
}

NOTRACE int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec t = {{0, 50000}, {0, 50000}};
	int n = argc > 1 ? atoi(argv[1]) : 2, i;
	pthread_t threads[64];
	timer_t timer;
	char line[16];
	void *ret;
	long total = 0;

	sigaction(SIGALRM, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer) || timer_settime(timer, 0, &t, NULL))
		abort();
	for (i = 0; i < n && i < 64; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	printf("ready\n");
	fflush(stdout);
	while (read(0, line, sizeof(line)) < 0)
		;
	stop = 1;
	while (i--) {
		pthread_join(threads[i], &ret);
		total += (long)ret;
	}
	printf("right %ld\n", total);
	return 0;
}
