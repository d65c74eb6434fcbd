/* SPDX-License-Identifier: MIT */
/* A program and a shared object loaded at start (shared_lib.c); both have a static `twin`. */
#include "target.h"

int shared_entry(int n);
void shared_print_counts(void);

static NOINLINE int twin(int n)
{
	COUNTED;
	return n + 1;
}

int main(void)
{
	int i, sum = 0;

	COUNTED;
	for (i = 0; i < 3000; i++)
		sum += twin(i) + shared_entry(i);
	print_counts();
	shared_print_counts();
	return sum == 1;
}
