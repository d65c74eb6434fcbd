/* SPDX-License-Identifier: MIT */
/*
 * profiled - half a second of calls, three deep, for a profiler from outside.
 */
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE long leaf(long n)
{
	long s = 0, i;

	for (i = 0; i < 4000; i++) {
		s += i * n;
		__asm__ volatile("" : "+r"(s));
	}
	return s;
}

NOINLINE long middle(long n)
{
	long r = leaf(n);

	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

NOINLINE long outer(long n)
{
	long r = 0;
	int i;

	for (i = 0; i < 50; i++) {
		r += middle(n + i);
		__asm__ volatile("" : "+r"(r));
	}
	return r;
}

int main(void)
{
	long r = 0;
	int i;

	for (i = 0; i < 5000; i++) {
		r += outer(i);
		__asm__ volatile("" : "+r"(r));
	}
	printf("%ld\n", r);
	return 0;
}
