/* SPDX-License-Identifier: MIT */
/*
 * repeats: for each number N that it reads, N calls of again() from one place, one of other(), and
 * one of again() from another place; then `done`.
 */
#include <stdio.h>

#include "target.h"

#define CALLED __attribute__((noipa))

static volatile int calls;

static CALLED void again(void)
{
	calls++;
}

static CALLED void other(void)
{
	calls++;
}

NOTRACE int main(void)
{
	int n;

	puts("ready");
	fflush(stdout);
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++)
			again();
		other();
		again();
		printf("done\n");
		fflush(stdout);
	}
	return 0;
}
