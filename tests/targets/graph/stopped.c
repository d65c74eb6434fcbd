/* SPDX-License-Identifier: MIT */
/*
 * What a debugger stops in: a chain of calls with arguments in registers and on the stack, a
 * callback out of libc, a signal handler, and work to step through instruction by instruction.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

static volatile int sink;

NOINLINE void spot(int which)
{
	sink = which;
	KEEP();
}

NOINLINE int innermost(int a, int b, int c, int d, int e, int f, int g, int h)
{
	spot(g + h);
	KEEP();
	return a + b + c + d + e + f + g + h;
}

NOINLINE int recursive(int n)
{
	int r = n ? recursive(n - 1) : innermost(1, 2, 3, 4, 5, 6, 7, 8);

	KEEP();
	return r + 1;
}

NOINLINE int compare(const void *a, const void *b)
{
	spot(3);
	KEEP();
	return *(const int *)a - *(const int *)b;
}

NOINLINE void handler(int sig)
{
	recursive(sig == SIGUSR1);
	KEEP();
}

NOINLINE int step_leaf(int n)
{
	KEEP();
	return n + 1;
}

NOINLINE int step_middle(int n)
{
	int r = step_leaf(n);

	r += step_leaf(r);
	KEEP();
	return r;
}

NOINLINE int step_outer(int n)
{
	int i, r = 0;

	for (i = 0; i < 100; i++) {
		r += step_middle(n + i);
		KEEP();
	}
	return r;
}

int main(void)
{
	int numbers[] = {2, 1};

	printf("%d\n", recursive(3));
	qsort(numbers, 2, sizeof(int), compare);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	printf("%d\n", step_outer(1));
	return 0;
}
