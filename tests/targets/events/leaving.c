/* SPDX-License-Identifier: MIT */
/*
 * Probe functions of the program's own that do not simply return: each line of the output says how
 * one went, `NAME 0` if it was as it should be. A wait that never ends is ended by SIGALRM.
 *
 *	fork	one that forks, and what its child unregisters
 *	jump	one that leaves by longjmp(), and one that a signal handler leaves
 *	exit	one that ends its thread
 *	self	one that waits for its own end
 *	first	the first of a tracepoint comes while the engine's probes are called
 */
#define CREATE_TRACE_POINTS
#include "calc.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "vestige/vestige.h"

DEFINE_TRACE(calc_bare, TP_PROTO(int n), TP_ARGS(n));

static int step;
static pid_t child;
static sigjmp_buf back;

static void wait_for(int what)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < what)
		usleep(100);
}

static void go_to(int what)
{
	__atomic_store_n(&step, what, __ATOMIC_RELEASE);
}

/* Another thread's: it is as if the probe function's user were about to free what it uses. */
static void *synchronizes(void *arg)
{
	tracepoint_synchronize_unregister();
	go_to(2);
	return arg;
}

static void forks(void *data, int n)
{
	(void)data, (void)n;
	child = fork();
}

static int by_fork(void)
{
	int status;

	register_trace_calc_bare(forks, NULL);
	trace_calc_bare(1);
	if (!child) {
		pthread_t thread;

		alarm(20);
		/* no thread is in a callback any more, not in the child either */
		unregister_trace_calc_bare(forks, NULL);
		if (pthread_create(&thread, NULL, synchronizes, NULL) || pthread_join(thread, NULL))
			_exit(1);
		tracepoint_synchronize_unregister();
		_exit(0);
	}
	unregister_trace_calc_bare(forks, NULL);
	tracepoint_synchronize_unregister();
	return child < 0 || waitpid(child, &status, 0) != child ? -1 : status;
}

static void jumps(void *data, int n)
{
	(void)data;
	if (n)
		raise(SIGUSR1);
	siglongjmp(back, 1);
}

static void handler(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

static int by_jump(void)
{
	struct sigaction act = {0};
	pthread_t thread;

	act.sa_handler = handler;
	sigaction(SIGUSR1, &act, NULL);
	register_trace_calc_bare(jumps, NULL);
	if (!sigsetjmp(back, 1))
		trace_calc_bare(0);
	if (!sigsetjmp(back, 1))
		trace_calc_bare(1);
	unregister_trace_calc_bare(jumps, NULL);
	tracepoint_synchronize_unregister();
	return pthread_create(&thread, NULL, synchronizes, NULL) || pthread_join(thread, NULL);
}

static void ends(void *data, int n)
{
	(void)data, (void)n;
	pthread_exit(NULL);
}

static void *calls(void *arg)
{
	trace_calc_bare(1);
	return arg;
}

static int by_exit(void)
{
	pthread_t thread;
	int err;

	register_trace_calc_bare(ends, NULL);
	err = pthread_create(&thread, NULL, calls, NULL) || pthread_join(thread, NULL);
	unregister_trace_calc_bare(ends, NULL);
	tracepoint_synchronize_unregister();
	return err;
}

static void waits(void *data, int n)
{
	(void)n;
	tracepoint_synchronize_unregister();
	++*(int *)data;
}

static int by_itself(void)
{
	int n = 0;

	register_trace_calc_bare(waits, &n);
	trace_calc_bare(1);
	unregister_trace_calc_bare(waits, &n);
	tracepoint_synchronize_unregister();
	return n != 1;
}

/*
 * While the first one of the program's own runs, a thread that synchronizes waits for it: at any
 * instruction.
 */
static unsigned long at_step, steps;
static int probe_ran, freed_early;

/* SIGTRAP before each instruction from here on. */
static inline __attribute__((always_inline)) void trap_each(int on)
{
	if (on)
		__asm__ volatile("subq $128, %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
				 "addq $128, %%rsp" ::
					 : "memory", "cc");
	else
		__asm__ volatile("subq $128, %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
				 "addq $128, %%rsp" ::
					 : "memory", "cc");
}

static void sees(void *data, int a, int b)
{
	pthread_t thread;

	(void)data, (void)a, (void)b;
	trap_each(0);
	probe_ran = 1;
	go_to(0);
	if (pthread_create(&thread, NULL, synchronizes, NULL))
		abort();
	usleep(20000);
	freed_early += __atomic_load_n(&step, __ATOMIC_ACQUIRE) == 2;
	pthread_detach(thread);
	trap_each(1);
}

static void trapped(int sig)
{
	(void)sig;
	if (steps++ == at_step)
		register_trace_calc_sum(sees, NULL);
}

static int by_first(void)
{
	struct sigaction act = {0};
	struct tracepoint was;
	int ran = 0;

	act.sa_handler = trapped;
	sigaction(SIGTRAP, &act, NULL);
	/* two of the engine's, so that all of them are gone through */
	if (vestige_instance_create("other") < 0 ||
	    vestige_write("instances/other/events/calc/calc_sum/enable", "1", 1) < 0 ||
	    vestige_write("events/calc/calc_sum/enable", "1", 1) < 0)
		return -1;
	was = __tracepoint_calc_sum;
	for (at_step = 0;; at_step++) {
		steps = 0;
		probe_ran = 0;
		trap_each(1);
		trace_calc_sum(1, 2);
		trap_each(0);
		if (steps <= at_step)
			break;
		if (probe_ran)
			wait_for(2);
		ran += probe_ran;
		unregister_trace_calc_sum(sees, NULL);
		/* as if none had ever been there */
		__tracepoint_calc_sum.guarded = was.guarded;
		if (ran && !probe_ran)
			break; /* too late, and so from here on */
	}
	return ran ? freed_early : -1;
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(100);
	printf("fork %d\n", by_fork());
	printf("jump %d\n", by_jump());
	printf("exit %d\n", by_exit());
	printf("self %d\n", by_itself());
	printf("first %d\n", by_first());
	return 0;
}
