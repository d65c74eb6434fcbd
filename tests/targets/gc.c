/* SPDX-License-Identifier: MIT */
/*
 * To be built with -ffunction-sections -Wl,--gc-sections: the first function of the file is
 * discarded, and with gcc 12 the whole of the file's __patchable_function_entries goes with it. Its
 * functions are then found by symbol and by FDE.
 */
#include "target.h"

NOINLINE int discarded(int n);
NOINLINE int discarded(int n)
{
	COUNTED;
	return n - 1;
}

static NOINLINE int kept(int n)
{
	COUNTED;
	return n + 1;
}

int main(void)
{
	int i, sum = 0;

	COUNTED;
	for (i = 0; i < 500; i++)
		sum += kept(i);
	print_counts();
	return sum == 1;
}
