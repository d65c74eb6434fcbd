/* SPDX-License-Identifier: MIT */
/*
 * A thread is stopped among the NOPs of a function while the function is traced for the first time.
 *
 *	late TRACER BYTES
 *
 * For each instruction of each function's NOPs a thread is brought there by single steps (up to
 * BYTES from its beginning), the function is added to the filter by another thread, and then the
 * thread goes on. Prints `stood N wrong M` (threads stopped, wrong results), then `calls NAME N` of
 * the calls that were made while it was traced.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <vestige/vestige.h>

#include "target.h"

#define TRAP_FLAG 0x100
#define NOPS	  16

static volatile uint64_t begin, at;
static volatile int came; /* to the function */
static volatile int
	state; /* 1: it is stopped there, 2: there is no such instruction, 3: it may go on */

static NOTRACE void trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t ip = (uint64_t)regs[REG_RIP];

	(void)sig;
	(void)info;
	came |= ip == begin;
	if (!came || (ip >= begin && ip < at))
		return;
	regs[REG_EFL] &= ~TRAP_FLAG;
	state = ip == at ? 1 : 2;
	while (state == 1)
		;
}

#define ONE(i)                                                                                     \
	static NOINLINE long f##i(long a, long b, long c, long d, long e, long f)                  \
	{                                                                                          \
		__asm__ volatile("" ::: "memory");                                                 \
		return a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + i;               \
	}
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
ALL(ONE)

static long (*const functions[])(long, long, long, long, long, long) = {
#define ADDRESS(i) f##i,
	ALL(ADDRESS)};

static NOTRACE long call(int i, int stepped)
{
	long (*f)(long, long, long, long, long, long) = functions[i];

	if (stepped)
		__asm__ volatile(
			"subq $128, %%rsp; pushfq; orl %0, (%%rsp); popfq; addq $128, %%rsp"
			:
			: "i"(TRAP_FLAG)
			: "memory", "cc");
	return f(1, 2, 3, 4, 5, 6);
}

static NOTRACE void *walk(void *arg)
{
	return (void *)call((int)(intptr_t)arg, 1);
}

int NOTRACE main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	int i, k, stood = 0, wrong = 0;
	char name[16];

	sigaction(SIGTRAP, &sa, NULL);
	if (argc != 3)
		return 2;
	/* nothing yet: a function of that name is there, and it is never called */
	if (vestige_write("set_ftrace_filter", "uncalled", 8) < 0 ||
	    vestige_write("current_tracer", argv[1], strlen(argv[1])) < 0)
		return 3;
	for (i = 0; i < NOPS; i++) {
		long right = 654321 + i;
		pthread_t thread;
		void *result;

		begin = (uint64_t)functions[i];
		at = begin + (uint64_t)i;
		state = came = 0;
		pthread_create(&thread, NULL, walk, (void *)(intptr_t)i);
		while (!state)
			;
		stood += state == 1 && i && i < atoi(argv[2]);
		snprintf(name, sizeof(name), "f%d", i);
		if (vestige_append("set_ftrace_filter", name, strlen(name)) < 0)
			return 4;
		state = 3;
		pthread_join(thread, &result);
		wrong += (long)result != right;
		for (k = 0; k < 10; k++)
			wrong += call(i, 0) != right;
	}
	printf("stood %d wrong %d\n", stood, wrong);
	return 0;
}

/* What the filter names at first. */
void uncalled(void);
NOINLINE void uncalled(void)
{
	__asm__ volatile("");
}
