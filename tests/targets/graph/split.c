/* SPDX-License-Identifier: MIT */
/*
 * split - built with -fsplit-stack: a deep recursion in small pieces of stack that libgcc makes as
 * they are needed. Prints the sum that the recursion makes.
 */
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

NOINLINE long deep(long n)
{
	volatile char here[3000];
	long r;

	here[0] = (char)n;
	r = n ? deep(n - 1) + here[0] : 0;
	__asm__ volatile("" : "+r"(r));
	return r;
}

/* libc wants more than a small piece */
__attribute__((no_split_stack)) int main(void)
{
	int i;

	for (i = 0; i < 3; i++)
		printf("%ld\n", deep(1000));
	return 0;
}
