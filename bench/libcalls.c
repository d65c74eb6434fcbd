/* SPDX-License-Identifier: MIT */
/* libcalls - calls of a library's function with a string, and without; prints ns a call of each. */
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
	double at[3];
	int i;

	at[0] = now();
	for (i = 0; i < CALLS; i++)
		free(NULL);
	at[1] = now();
	for (i = 0; i < CALLS; i++)
		sum += strlen("/etc/passwd");
	at[2] = now();
	printf("%.1f %.1f\n", (at[1] - at[0]) / CALLS, (at[2] - at[1]) / CALLS);
	return 0;
}
