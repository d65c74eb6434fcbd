/* SPDX-License-Identifier: MIT */
/* Calls that nest: recursion, calls back from libc, stack arguments, a long double returned. */
#include <stdlib.h>

#include "tree.h"

static volatile int sink;

static NOINLINE int leaf(int n)
{
	CALL;
	return BACK(n + sink);
}

static NOINLINE int fib(int n)
{
	CALL;
	return BACK(n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2));
}

static int compare(const void *a, const void *b)
{
	CALL;
	return BACK(*(const int *)a - leaf(*(const int *)b));
}

static NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	CALL;
	return BACK(leaf(a + b) + c + d + e + f + g * h);
}

static NOINLINE long double wide(int n)
{
	CALL;
	return BACK(leaf(n) * 1.5L);
}

int main(void)
{
	int numbers[100], i, sum = 0;

	CALL;
	sum += fib(10);
	for (i = 0; i < 100; i++)
		numbers[i] = i * 37 % 101;
	qsort(numbers, 100, sizeof(numbers[0]), compare);
	for (i = 1; i < 100; i++)
		if (numbers[i - 1] > numbers[i])
			return 1;
	for (i = 0; i < 10; i++) {
		if (many(i, 1, 2, 3, 4, 5, 6, 7) != i + 57)
			return 1;
		if ((int)wide(2 * i) != 3 * i)
			return 1;
	}
	sink = sum;
	return BACK(0);
}
