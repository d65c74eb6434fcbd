/* SPDX-License-Identifier: MIT */
/*
 * At each line of input visit() is called on many stacks in turn, more than a thread remembers,
 * while a timer's signals call it in their midst. The answer is `done CALLS`: all of them so far.
 * A signal sets the timer for the next one: however slow signals are, there is time between them.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#define STACKS 600
#define BYTES  16384
#define TURNS  200
#define NS     15000

static ucontext_t back, there[STACKS];
static char stacks[STACKS][BYTES];
static long calls;
static timer_t timer;
static volatile int going;
static const struct itimerspec soon = {{0, 0}, {0, NS}};

static __attribute__((noinline, noclone)) long visit(long n)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__asm__ volatile("" : "+r"(n));
	return n;
}

static __attribute__((patchable_function_entry(0))) void on_signal(int sig)
{
	visit(sig);
	if (going)
		timer_settime(timer, 0, &soon, NULL);
}

static __attribute__((patchable_function_entry(0))) void turns(int i)
{
	for (;;) {
		visit(i);
		swapcontext(&there[i], &back);
	}
}

static __attribute__((noinline, patchable_function_entry(0))) void begin(int i)
{
	getcontext(&there[i]);
	there[i].uc_stack.ss_sp = stacks[i];
	there[i].uc_stack.ss_size = BYTES;
	makecontext(&there[i], (void (*)(void))turns, 1, i);
}

__attribute__((patchable_function_entry(0))) int main(void)
{
	const struct itimerspec off = {{0, 0}, {0, 0}};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &e, &timer);
	while (fgets(line, sizeof(line), stdin)) {
		going = 1;
		timer_settime(timer, 0, &soon, NULL);
		for (int i = 0; i < STACKS; i++)
			begin(i);
		for (int i = 0; i < STACKS * TURNS; i++)
			swapcontext(&back, &there[i % STACKS]);
		going = 0;
		timer_settime(timer, 0, &off, NULL);
		printf("done %ld\n", __atomic_load_n(&calls, __ATOMIC_RELAXED));
	}
	return 0;
}
