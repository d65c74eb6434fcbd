/* SPDX-License-Identifier: MIT */
/*
 * libcalls - calls of a library's functions: with a number; with a string and a result; with
 * numbers and a result. Prints ns a call of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CALLS 100000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(void)
{
	volatile size_t sum = 0;
	char other[] = "/etc/passwd";
	double at[4];
	int i;

	at[0] = now();
	for (i = 0; i < CALLS; i++)
		free(NULL);
	at[1] = now();
	for (i = 0; i < CALLS; i++)
		sum += strlen("/etc/passwd");
	at[2] = now();
	for (i = 0; i < CALLS; i++)
		sum += (size_t)memcmp("/etc/passwd", other, sizeof(other));
	at[3] = now();
	for (i = 0; i < 3; i++)
		printf("%.1f ", (at[i + 1] - at[i]) / CALLS);
	putchar('\n');
	return 0;
}
