/* SPDX-License-Identifier: MIT */
/*
 * The engine is loaded by dlopen() while a thread is stopped among the NOPs of a function.
 *
 *	late_load LIBRARY AT
 *
 * A thread is brought by single steps to the function's byte AT; then LIBRARY is loaded, by whose
 * settings the function is traced at once, and the thread goes on. Exit status: 0 if the call gives
 * what it should, 77 if no instruction begins at AT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#include "target.h"

#define TRAP_FLAG 0x100

static volatile uint64_t begin, at;
static volatile int came;
static volatile int state; /* 1: it is stopped there, 2: there is no such instruction, 3: go on */

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

NOINLINE long wanted(long a, long b);
NOINLINE long wanted(long a, long b)
{
	__asm__ volatile("" ::: "memory");
	return a + 10 * b;
}

static NOTRACE void *walk(void *arg)
{
	long (*volatile f)(long, long) = wanted;

	(void)arg;
	__asm__ volatile("subq $128, %%rsp; pushfq; orl %0, (%%rsp); popfq; addq $128, %%rsp"
			 :
			 : "i"(TRAP_FLAG)
			 : "memory", "cc");
	return (void *)f(1, 2);
}

int NOTRACE main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
	pthread_t thread;
	void *result;
	int stood;

	if (argc != 3)
		return 2;
	sigaction(SIGTRAP, &sa, NULL);
	begin = (uint64_t)wanted;
	at = begin + (uint64_t)atoi(argv[2]);
	pthread_create(&thread, NULL, walk, NULL);
	while (!state)
		;
	stood = state == 1;
	if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	state = 3;
	pthread_join(thread, &result);
	if ((long)result != 21 || wanted(3, 4) != 43)
		return 4;
	return stood ? 0 : 77;
}
