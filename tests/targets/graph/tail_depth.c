/* SPDX-License-Identifier: MIT */
/*
 * Tail calls of a fixed shape: how deep is each? First argument: how often.
 *
 *	round(one(two(three(leaf)))  plain(inner(leaf))  hops(hop(skip(hop(skip(hop(leaf))))))  ...)
 *
 * one, two, three are a chain of tail calls; so are hops, hop, skip, ..., and one_leap, two_leap,
 * leap, which never return.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#define NOIPA __attribute__((noipa))

static jmp_buf back;

NOIPA void leaf(void)
{
	__asm__ volatile("");
}

NOIPA void three(void)
{
	leaf();
	__asm__ volatile("");
}

NOIPA void two(void)
{
	three();
}

NOIPA void one(void)
{
	two();
}

NOIPA void inner(void)
{
	leaf();
	__asm__ volatile("");
}

NOIPA void plain(void)
{
	inner();
	__asm__ volatile("");
}

NOIPA void hop(int n);

NOIPA void skip(int n)
{
	hop(n - 1);
}

NOIPA void hop(int n)
{
	if (!n) {
		leaf();
		__asm__ volatile("");
		return;
	}
	skip(n - 1);
}

NOIPA void hops(int n)
{
	hop(n);
}

NOIPA void leap(void)
{
	longjmp(back, 1);
}

NOIPA void two_leap(void)
{
	leap();
}

NOIPA void one_leap(void)
{
	two_leap();
}

NOIPA void turn(void)
{
	one();
	plain();
	hops(4);
	plain();
	if (!setjmp(back))
		one_leap();
	plain();
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	char c;

	for (int i = 0; i < n; i++) {
		turn();
		/* in step with the test: the filters change while main() is open */
		if (argc > 2 && (write(1, "x", 1) != 1 || read(0, &c, 1) != 1))
			return 1;
	}
	return 0;
}
