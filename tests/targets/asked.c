/* SPDX-License-Identifier: MIT */
/*
 * asked: calls `often` all the time, and `seldom` once for each line on stdin, whose result it
 * prints. Ends with 0 when `often` was always right.
 */
#include <pthread.h>
#include <stdio.h>

#include "target.h"

static volatile int stop, wrong;

static NOINLINE int often(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static NOINLINE int seldom(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x * 2;
}

static NOTRACE void *busy(void *arg)
{
	int i;

	for (i = 0; !stop; i++)
		wrong |= often(i & 0xffff) != (i & 0xffff) + 1;
	return arg;
}

NOTRACE int main(void)
{
	pthread_t t;
	int x;

	pthread_create(&t, NULL, busy, NULL);
	while (scanf("%d", &x) == 1) {
		printf("%d\n", seldom(x));
		fflush(stdout);
	}
	stop = 1;
	pthread_join(t, NULL);
	return wrong;
}
