/* SPDX-License-Identifier: MIT */
/*
 * A storm of signals over two threads that call in bursts: the handler is traced too, and
 * interrupts the recording at any instruction. Nothing may be lost or torn, and errno is kept.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "target.h"

static volatile int stop, wrong;

static NOINLINE int in_handler(int n)
{
	COUNTED;
	return n + 1;
}

static void handler(int sig)
{
	COUNTED;
	in_handler(sig);
	in_handler(sig);
}

static NOINLINE unsigned int work(unsigned int n)
{
	COUNTED;
	return n * 2654435761u;
}

static void *body(void *arg)
{
	unsigned int x = 1;
	int i;

	COUNTED;
	errno = 77;
	while (!stop) {
		for (i = 0; i < 20; i++)
			x = work(x);
		/* a rest, so that a second makes millions of records, not a hundred millions */
		for (i = 0; i < 20000; i++)
			__asm__ volatile("");
	}
	if (errno != 77)
		wrong = 1;
	return (void *)(long)x;
}

int main(void)
{
	struct itimerval every = {{0, 50}, {0, 50}}, off;
	struct sigaction sa;
	struct timespec now, start;
	pthread_t t[2];
	int i;

	COUNTED;
	memset(&sa, 0, sizeof(sa));
	memset(&off, 0, sizeof(off));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART | SA_NODEFER;
	sigaction(SIGALRM, &sa, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, body, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000LL + now.tv_nsec - start.tv_nsec <
		 200000000);
	setitimer(ITIMER_REAL, &off, NULL);
	stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	print_counts();
	return wrong;
}
