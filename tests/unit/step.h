/* SPDX-License-Identifier: MIT */
/*
 * Another thread's step at each instruction of a function: the function runs with the processor's
 * trap flag set, and the handler of SIGTRAP, which runs between any two of its instructions, does
 * what another thread could have done there. A race that needs one instruction is met every time.
 * x86 only, as the engine is.
 */
#ifndef VESTIGE_TESTS_STEP_H
#define VESTIGE_TESTS_STEP_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

static void (*step_between)(void *arg, uint64_t n);
static void *step_arg;
static volatile uint64_t step_count;
static volatile int step_on;

static void step_trap(int sig)
{
	(void)sig;
	if (step_on)
		step_between(step_arg, step_count++);
}

#define STEP_TRAP_FLAG "0x100"

/*
 * step_through() - call @run(@run_arg) and, before each of its instructions, @between(@arg, n),
 * where n counts them from 0. Return: how many there were.
 */
static uint64_t step_through(void (*run)(void *run_arg), void *run_arg,
			     void (*between)(void *arg, uint64_t n), void *arg)
{
	struct sigaction act = {.sa_handler = step_trap}, old;

	step_between = between;
	step_arg = arg;
	step_count = 0;
	sigaction(SIGTRAP, &act, &old);
	step_on = 1;
	__asm__ volatile("subq $128, %%rsp; pushfq; orq $" STEP_TRAP_FLAG
			 ", (%%rsp); popfq; addq $128, %%rsp" ::
				 : "memory", "cc");
	run(run_arg);
	__asm__ volatile("subq $128, %%rsp; pushfq; andq $~" STEP_TRAP_FLAG
			 ", (%%rsp); popfq; addq $128, %%rsp" ::
				 : "memory", "cc");
	step_on = 0;
	sigaction(SIGTRAP, &old, NULL);
	return step_count;
}

#endif
