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
#include <ucontext.h>

static void (*step_between)(void *arg, uint64_t n);
static void *step_arg;
static volatile uint64_t step_count;
static volatile int step_on;

#define STEP_TRAP_FLAG 0x100

static void step_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	if (step_on)
		step_between(step_arg, step_count++);
	if (!step_on)
		regs[REG_EFL] &= ~(greg_t)STEP_TRAP_FLAG;
}

/* step_end() - called by @between: the rest of the function runs at once. */
static inline void step_end(void)
{
	step_on = 0;
}

#define STEP_CHANGE_FLAGS(how, flags)                                                              \
	__asm__ volatile("subq $128, %%rsp; pushfq; " how " %0, (%%rsp); popfq; addq $128, %%rsp"  \
			 :                                                                         \
			 : "i"(flags)                                                              \
			 : "memory", "cc")

/*
 * step_through() - call @run(@run_arg) and, before each of its instructions, @between(@arg, n),
 * where n counts them from 0. Return: how many there were.
 */
static uint64_t step_through(void (*run)(void *run_arg), void *run_arg,
			     void (*between)(void *arg, uint64_t n), void *arg)
{
	struct sigaction act = {.sa_sigaction = step_trap, .sa_flags = SA_SIGINFO}, old;

	step_between = between;
	step_arg = arg;
	step_count = 0;
	sigaction(SIGTRAP, &act, &old);
	step_on = 1;
	STEP_CHANGE_FLAGS("orq", STEP_TRAP_FLAG);
	run(run_arg);
	STEP_CHANGE_FLAGS("andq", ~STEP_TRAP_FLAG);
	step_on = 0;
	sigaction(SIGTRAP, &old, NULL);
	return step_count;
}

#endif
