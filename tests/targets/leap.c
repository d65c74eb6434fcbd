/* SPDX-License-Identifier: MIT */
/*
 * leap jump|fork TIMES: a timer's handler leaves the interrupted code for good by siglongjmp(), or
 * makes a child that goes on from there, traced. The counters are written beside each call; `leaps`
 * counts the calls that a jump leaves between their record and their counter. A fork's timer is
 * set anew in the loop: on a busy machine a signal that was pending would interrupt the same
 * instruction again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target.h"

static sigjmp_buf start;
static unsigned long made;
static volatile int leaps, times, jumps, child;

static NOINLINE void called(void)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	__asm__ volatile("");
}

static NOTRACE void handler(int sig)
{
	int i;

	if (leaps >= times || child)
		return;
	leaps++;
	if (!jumps) {
		child = !fork();
		return;
	}
	for (i = 0; i < 600; i++) /* more than a page takes */
		called();
	siglongjmp(start, sig);
}

NOTRACE int main(int argc, char **argv)
{
	struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	int status, bad = 0, armed = 0, i;

	jumps = argc > 1 && !strcmp(argv[1], "jump");
	times = argc > 2 ? atoi(argv[2]) : 100;
	if (!jumps)
		often = (struct itimerval){.it_value = {0, 1000}};
	signal(SIGALRM, handler);
	sigsetjmp(start, 1);
	setitimer(ITIMER_REAL, &often, NULL);
	while (leaps < times && !child) {
		for (i = 0; i < 100; i++)
			called();
		if (!jumps && armed != leaps) {
			armed = leaps;
			setitimer(ITIMER_REAL, &often, NULL);
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; child && i < 5000; i++)
		called();
	if (child)
		_exit(0);
	while (!jumps && wait(&status) > 0)
		bad += status != 0;
	printf("made %lu leaps %d bad %d\n", made, leaps, bad);
	return 0;
}
