/* SPDX-License-Identifier: MIT */
/* For each line of its input: an event with a mask of the CPUs 0, 1 and 65. */
#define CREATE_TRACE_POINTS
#include "cpumasks.h"

#include <stdio.h>

int main(void)
{
	char line[64];
	cpu_set_t mask;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CPU_ZERO(&mask);
	CPU_SET(0, &mask);
	CPU_SET(1, &mask);
	CPU_SET(65, &mask);
	for (i = 0; fgets(line, sizeof(line), stdin); i++) {
		trace_cpumasks_set(&mask);
		printf("done %d\n", i);
	}
	return 0;
}
