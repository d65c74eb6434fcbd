/* SPDX-License-Identifier: MIT */
/*
 * The time to make the tree over the viewer's columns, and the size of both.
 * span_tree MILLIONS: prints `spans N columns BYTES tree BYTES seconds S`, S of this thread's CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/view/span_row.h"

#define DEPTHS	  16u
#define NR_NAMES  64u
#define SPAN_WORD (2 * sizeof(uint64_t) + 2 * sizeof(uint32_t))

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static struct span_row rows[DEPTHS];
	size_t each = (size_t)(argc > 1 ? atoi(argv[1]) : 1) * 1000000 / DEPTHS, nodes = 0;
	uint32_t random = 1;
	double begun;

	for (unsigned int depth = 0; depth < DEPTHS; depth++) {
		uint64_t ts = 0;

		rows[depth].has_extra = true;
		for (size_t i = 0; i < each; i++) {
			random = random * 1664525 + 1013904223; /* Numerical Recipes' generator */
			if (span_row_add(&rows[depth], ts, random >> 22, (random >> 10) % NR_NAMES,
					 0))
				return 1;
			ts += random >> 21;
		}
	}
	begun = cpu_seconds();
	for (unsigned int depth = 0; depth < DEPTHS; depth++)
		if (span_row_finish(&rows[depth]))
			return 1;
	begun = cpu_seconds() - begun;
	for (unsigned int depth = 0; depth < DEPTHS; depth++)
		for (unsigned int level = 0; level < rows[depth].nr_levels; level++)
			nodes += rows[depth].nr_nodes[level];
	printf("spans %zu columns %zu tree %zu seconds %.3f\n", each * DEPTHS,
	       each * DEPTHS * SPAN_WORD, nodes * sizeof(struct span_node), begun);
	return 0;
}
