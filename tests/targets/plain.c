/* SPDX-License-Identifier: MIT */
/* One thread: a loop over a leaf, recursion, calls back from libc, a call through a pointer. */
#include <stdlib.h>

#include "target.h"

static volatile int sink;

static NOINLINE int leaf(int x)
{
	COUNTED;
	return x + sink;
}

static NOINLINE int fib(int n)
{
	COUNTED;
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static NOINLINE int odd(int n);

static NOINLINE int even(int n)
{
	COUNTED;
	return n ? odd(n - 1) : 1;
}

static NOINLINE int odd(int n)
{
	COUNTED;
	return n ? even(n - 1) : 0;
}

static int compare(const void *a, const void *b)
{
	COUNTED;
	return *(const int *)a - *(const int *)b;
}

NOINLINE int global_function(int (*f)(int), int x)
{
	COUNTED;
	return f(x);
}

static NOINLINE void never_called(void)
{
	COUNTED;
}

static __attribute__((constructor)) void before_main(void)
{
	COUNTED;
}

int main(int argc, char **argv)
{
	int numbers[500], i, sum = 0;

	COUNTED;
	for (i = 0; i < 20000; i++)
		sum += leaf(i);
	sum += fib(18);
	sum += even(1000);
	for (i = 0; i < 500; i++)
		numbers[i] = i * 7919 % 503;
	qsort(numbers, 500, sizeof(numbers[0]), compare);
	for (i = 0; i < 100; i++)
		sum += global_function(i % 2 ? leaf : fib, 5);
	sink = sum;
	if (argc > 5)
		never_called();
	print_counts();
	return 3;
}
