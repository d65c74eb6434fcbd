/* SPDX-License-Identifier: MIT */
/*
 * ops WHAT: a program with callbacks of its own at the entry of its functions.
 *
 *	calls	two ops with filters, arguments, floating point in callback and callee; counts
 *	storm N	callbacks come and go N times under threads that call, each checked
 *	errors	what register and its like refuse
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vestige/vestige.h"

#include "target.h"

static volatile int stop;
static unsigned long sum_calls, float_calls, deep_calls, wrong;
static volatile double scale = 0.5;

static NOINLINE long sum8(long a, long b, long c, long d, long e, long f, long g, long h)
{
	COUNTED;
	__asm__ volatile("" : "+r"(a));
	return a + b + c + d + e + f + g + h;
}

static NOINLINE double mix(double a, float b, long n)
{
	COUNTED;
	__asm__ volatile("" : "+r"(n));
	return a * (double)b + (double)n;
}

static NOINLINE int traced_helper(int n)
{
	COUNTED;
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static NOTRACE void on_sum(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			   struct ftrace_regs *fregs)
{
	unsigned int i;

	sum_calls++;
	for (i = 0; i < 8; i++)
		wrong += ftrace_regs_get_argument(fregs, i) != 10 + i;
	wrong += ip != (unsigned long)sum8 || !parent_ip;
	wrong += op->private_data != &sum_calls;
	/* traced, but not called back */
	wrong += traced_helper(4) != 5;
}

static NOTRACE void on_any(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			   struct ftrace_regs *fregs)
{
	/* all vector registers, as a compiler would use them */
	volatile double x[16];
	int i;

	for (i = 0; i < 16; i++)
		x[i] = (double)i * scale;
	__asm__ volatile("vzeroall" ::
				 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	if (ip == (unsigned long)mix)
		float_calls++;
	if (ip == (unsigned long)traced_helper)
		deep_calls++;
	wrong += x[3] != 3 * scale;
	(void)parent_ip;
	(void)op;
	(void)fregs;
}

static struct ftrace_ops sum_ops = {.func = on_sum, .private_data = &sum_calls};
static struct ftrace_ops any_ops = {.func = on_any};

static NOTRACE int no_avx(void)
{
	return !__builtin_cpu_supports("avx");
}

static NOTRACE int calls(void)
{
	int i;

	if (no_avx())
		return 77;
	printf("%d ", ftrace_set_filter(&sum_ops, "sum8", 4, 0));
	printf("%d\n", register_ftrace_function(&sum_ops));
	printf("%d ", ftrace_set_notrace(&any_ops, "sum8", 4, 0));
	printf("%d\n", register_ftrace_function(&any_ops));
	for (i = 0; i < 1000; i++) {
		wrong += sum8(10, 11, 12, 13, 14, 15, 16, 17) != 108;
		wrong += mix(1.5, 2.0f, i) != 3.0 + i;
	}
	wrong += traced_helper(1) != 2;
	printf("%d\n", unregister_ftrace_function(&any_ops));
	wrong += mix(1.5, 2.0f, 1) != 4.0 || traced_helper(1) != 2;
	printf("%d\n", unregister_ftrace_function(&sum_ops));
	wrong += sum8(0, 0, 0, 0, 0, 0, 0, 1) != 1;
	printf("sum %lu float %lu deep %lu wrong %lu\n", sum_calls, float_calls, deep_calls, wrong);
	print_counts();
	return 0;
}

static NOINLINE void in_handler(void)
{
	__asm__ volatile("");
}

static NOTRACE void handler(int sig)
{
	in_handler();
	(void)sig;
}

static NOINLINE double busy_mix(double a, long n)
{
	__asm__ volatile("" : "+r"(n));
	return a + (double)n;
}

static NOTRACE void *worker(void *arg)
{
	long i;

	for (i = 0; !stop; i = (i + 1) & 1023)
		if (busy_mix(scale, i) != 0.5 + (double)i)
			abort();
	return arg;
}

static int *alive; /* what a callback uses; gone when unregister has returned */
static unsigned long seen;

static NOTRACE void on_busy(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			    struct ftrace_regs *fregs)
{
	volatile int *state = op->private_data;
	int i;

	/* long enough for somebody to unregister meanwhile */
	for (i = 0; i < 1000; i++)
		__asm__ volatile("");
	if (*state != 42)
		abort();
	__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
	__asm__ volatile("pxor %%xmm0, %%xmm0" ::: "xmm0");
	(void)ip;
	(void)parent_ip;
	(void)fregs;
}

static NOTRACE int storm(int n)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
	struct itimerspec t = {{0, 50000}, {0, 50000}};
	pthread_t threads[4];
	timer_t timer;
	int i;

	sigaction(SIGALRM, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &e, &timer) || timer_settime(timer, 0, &t, NULL))
		abort();
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (i = 0; i < n; i++) {
		struct ftrace_ops ops = {.func = on_busy};
		unsigned long before = __atomic_load_n(&seen, __ATOMIC_RELAXED);

		alive = malloc(sizeof(*alive));
		*alive = 42;
		ops.private_data = alive;
		if (i % 3 == 0 && ftrace_set_filter(&ops, "busy_mix", 8, 1))
			abort();
		if (register_ftrace_function(&ops))
			abort();
		while (i % 16 == 0 && __atomic_load_n(&seen, __ATOMIC_RELAXED) == before)
			;
		if (i % 5 == 0 && ftrace_set_filter(&ops, "busy_mix in_handler", 19, 1))
			abort();
		if (unregister_ftrace_function(&ops))
			abort();
		*alive = 0;
		free(alive);
		if (i % 10 == 0)
			vestige_write("current_tracer", i % 20 ? "nop" : "function",
				      i % 20 ? 3 : 8);
	}
	stop = 1;
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	timer_delete(timer);
	printf("seen %lu\n", seen);
	return 0;
}

static struct ftrace_ops self_ops;

static NOTRACE void on_self(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			    struct ftrace_regs *fregs)
{
	wrong += unregister_ftrace_function(op) != -EDEADLK;
	sum_calls++;
	(void)ip;
	(void)parent_ip;
	(void)fregs;
}

static NOTRACE int errors(void)
{
	struct ftrace_ops many[65], none = {0};
	int i, last = 0;

	memset(many, 0, sizeof(many));
	printf("none %d\n", register_ftrace_function(&none));
	printf("absent %d\n", unregister_ftrace_function(&sum_ops));
	printf("filter %d\n", ftrace_set_filter(&sum_ops, "nosuch", 6, 0));
	ftrace_set_filter(&sum_ops, "in_handler", 10, 1);
	printf("first %d\n", register_ftrace_function(&sum_ops));
	printf("again %d\n", register_ftrace_function(&sum_ops));
	printf("off %d\n", unregister_ftrace_function(&sum_ops));
	self_ops.func = on_self;
	ftrace_set_filter(&self_ops, "traced_helper", 13, 1);
	printf("self %d\n", register_ftrace_function(&self_ops));
	traced_helper(1);
	printf("self off %d\n", unregister_ftrace_function(&self_ops));
	for (i = 0; i < 65; i++) {
		many[i].func = on_busy;
		ftrace_set_filter(&many[i], "in_handler", 10, 1);
		last = register_ftrace_function(&many[i]);
	}
	printf("many %d\n", last);
	for (i = 0; i < 64; i++)
		last += unregister_ftrace_function(&many[i]);
	printf("many off %d\n", last);
	printf("wrong %lu inside %lu\n", wrong, sum_calls);
	return 0;
}

static NOINLINE unsigned long real_return(void)
{
	unsigned long a = (unsigned long)vestige_return_address();

	__asm__ volatile("" : "+r"(a));
	return a;
}

static NOTRACE int returns(void)
{
	unsigned long a = 0;
	int i;

	for (i = 0; i < 3; i++)
		a = real_return();
	printf("%d\n", a - (unsigned long)returns < 256);
	return 0;
}

NOTRACE int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "calls"))
		return calls();
	if (!strcmp(what, "storm"))
		return storm(argc > 2 ? atoi(argv[2]) : 100);
	if (!strcmp(what, "errors"))
		return errors();
	return returns();
}
