/* SPDX-License-Identifier: MIT */
/*
 * A program that can get no memory from its beginning on. A byte of input, answered by one:
 *   m	it may have memory again
 *   c	ten calls of called()
 */
#include <sys/resource.h>
#include <unistd.h>

#include "target.h"

static volatile int sum;

static __attribute__((noipa)) void called(int i)
{
	sum += i;
}

int main(void)
{
	struct rlimit old, low;
	char c = 'r';

	if (getrlimit(RLIMIT_AS, &old))
		return 1;
	low = old;
	low.rlim_cur = 4096;
	if (setrlimit(RLIMIT_AS, &low))
		return 1;
	while (write(1, &c, 1) == 1 && read(0, &c, 1) == 1) {
		if (c == 'm' && setrlimit(RLIMIT_AS, &old))
			return 1;
		for (int i = 0; c == 'c' && i < 10; i++)
			called(i);
	}
	return 0;
}
