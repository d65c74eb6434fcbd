/* SPDX-License-Identifier: MIT */
/*
 * ways - the cost of a call of a function without a site, for each way in which its entry can be
 * redirected.
 *
 *	ways long|move|padding MILLIONS
 *
 * Prints as bench/calls does. Each function is written so that its way is the first possible one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define PARTS 7

#define FUNCTION(name, text)                                                                       \
	__asm__(".text\n.p2align 5,0xcc\n.type " #name ",@function\n.globl " #name "\n" #name      \
		": .cfi_startproc\n" text "\n.cfi_endproc\n.size " #name ",.-" #name "\n");        \
	int name(int n)

FUNCTION(by_long, "leal 0x12345(%rdi),%eax\nret");
FUNCTION(by_move, "pushq %rbx\n.cfi_adjust_cfa_offset 8\nmovl %edi,%ebx\nmovl %ebx,%eax\n"
		  "popq %rbx\n.cfi_adjust_cfa_offset -8\nret");
/* a branch leads behind its first instruction, and padding lies before it */
__asm__(".text\n.p2align 5,0xcc\nret\n.fill 31,1,0xcc\n");
FUNCTION(by_padding, "xorl %eax,%eax\n1: addl $1,%eax\ncmpl $0,%eax\nje 1b\nret");

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static double rdtsc_ns(void)
{
	double start = now_ns();
	uint64_t sum = 0;
	int i;

	for (i = 0; i < 1000000; i++)
		sum += __rdtsc();
	__asm__ volatile("" : : "r"(sum));
	return (now_ns() - start) / 1e6;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*call)(int);
	} ways[] = {{"long", by_long}, {"move", by_move}, {"padding", by_padding}};
	double best = 1e9, tsc = 1e9, took;
	long n = argc > 2 ? (long)(atof(argv[2]) * 1e6) : 0, i, part;
	size_t way;

	for (way = 0; way < 3 && (n < PARTS || strcmp(argv[1], ways[way].name)); way++)
		;
	if (way == 3) {
		fprintf(stderr, "usage: ways long|move|padding MILLIONS\n");
		return 2;
	}
	for (part = 0; part < PARTS; part++) {
		double start = now_ns();

		for (i = 0; i < n / PARTS; i++)
			ways[way].call((int)i);
		took = (now_ns() - start) / (double)(n / PARTS);
		best = took < best ? took : best;
		took = rdtsc_ns();
		tsc = took < tsc ? took : tsc;
	}
	printf("ns_per_call %.3f ns_rdtsc %.3f calls %ld\n", best, tsc, n / PARTS * PARTS);
	return 0;
}
