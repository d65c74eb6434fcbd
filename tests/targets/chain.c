/* SPDX-License-Identifier: MIT */
/*
 * chain: reads numbers N, and for each calls outer() -> middle() -> inner() N times, where inner()
 * raises a signal whose handler calls handled(). Prints how many return addresses backtrace() finds
 * in inner().
 */
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>

#include "target.h"

#define CALLED __attribute__((noinline, noclone))

static volatile int depth, calls;

static CALLED void handled(void)
{
	calls++;
}

static NOTRACE void handler(int sig)
{
	handled();
	(void)sig;
	calls++;
}

static CALLED void inner(void)
{
	void *frames[64];

	depth = backtrace(frames, 64);
	raise(SIGUSR1);
	calls++;
}

static CALLED void middle(void)
{
	inner();
	calls++;
}

static CALLED void outer(void)
{
	middle();
	calls++;
}

NOTRACE int main(void)
{
	int n, i;

	signal(SIGUSR1, handler);
	puts("ready");
	fflush(stdout);
	while (scanf("%d", &n) == 1) {
		for (i = 0; i < n; i++)
			outer();
		printf("done %d\n", depth);
		fflush(stdout);
	}
	return 0;
}
