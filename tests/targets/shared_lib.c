/* SPDX-License-Identifier: MIT */
#include "target.h"

int shared_entry(int n);
int shared_leaf(int n);
void shared_print_counts(void);

static NOINLINE int twin(int n)
{
	COUNTED;
	return n - 1;
}

/* Called through the PLT: it may be interposed. */
NOINLINE int shared_leaf(int n)
{
	COUNTED;
	return n * 2;
}

NOINLINE int shared_entry(int n)
{
	COUNTED;
	return twin(n) + (n % 3 ? 0 : shared_leaf(n));
}

NOTRACE void shared_print_counts(void)
{
	print_counts();
}
