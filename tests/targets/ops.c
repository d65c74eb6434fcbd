/* SPDX-License-Identifier: MIT */
/*
 * ops WHAT: a program with callbacks of its own at the entry of its functions.
 *
 *	calls	two ops with filters, arguments, floating point in callback and callee; counts
 *	storm N	callbacks come and go N times under threads that call, each checked
 *	errors	what register and its like refuse
 *	files N	callbacks that use control files, come and go N times under threads that call
 *	leave	callbacks that are left by longjmp() or an end of the thread
 *	fork	a child is made in a callback, and goes on
 *	slow	a callback that does not end while it is unregistered
 *	later F	a callback without a filter, and a library that is loaded behind it
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

	/* long enough for another thread to unregister meanwhile */
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

/* A callback that calls what it may not gets an error at once, also while another thread waits. */
static NOTRACE void on_files(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			     struct ftrace_regs *fregs)
{
	char buf[64];

	errno = 0;
	wrong += vestige_write("tracing_on", "1", 1) >= 0 || errno != EDEADLK;
	errno = 0;
	wrong += vestige_read("tracing_on", buf, sizeof(buf)) >= 0 || errno != EDEADLK;
	errno = 0;
	wrong += !vestige_instance_create("x") || errno != EDEADLK;
	wrong += ftrace_set_filter(op, "busy_mix", 8, 0) != -EDEADLK;
	wrong += register_ftrace_function(op) != -EDEADLK;
	wrong += unregister_ftrace_function(op) != -EDEADLK;
	__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
	(void)ip;
	(void)parent_ip;
	(void)fregs;
}

static NOTRACE int files(int n)
{
	pthread_t threads[3];
	int i;

	alarm(60);
	for (i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (i = 0; i < n; i++) {
		struct ftrace_ops ops = {.func = on_files};
		unsigned long before = __atomic_load_n(&seen, __ATOMIC_RELAXED);

		if (ftrace_set_filter(&ops, "busy_mix", 8, 1) || register_ftrace_function(&ops))
			abort();
		while (__atomic_load_n(&seen, __ATOMIC_RELAXED) == before)
			sched_yield();
		if (unregister_ftrace_function(&ops))
			abort();
	}
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("files %d wrong %lu\n", n, wrong);
	return 0;
}

/* Callbacks that do not return: the next call has its callback as ever, and no thread waits. */
static sigjmp_buf back;
static pid_t forked;
static int how_to_leave;

static NOTRACE void on_leave(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			     struct ftrace_regs *fregs)
{
	seen++;
	if (how_to_leave == 1)
		siglongjmp(back, 1);
	if (how_to_leave == 2)
		raise(SIGUSR1);
	if (how_to_leave == 3)
		pthread_exit(NULL);
	if (how_to_leave == 4) {
		forked = fork();
		/* it is still in a callback, in the child too */
		wrong += traced_helper(1) != 2;
	}
	(void)ip;
	(void)parent_ip;
	(void)op;
	(void)fregs;
}

static NOTRACE void jump_back(int sig)
{
	siglongjmp(back, 1);
	(void)sig;
}

static NOTRACE void *call_once(void *arg)
{
	traced_helper(1);
	return arg;
}

static NOTRACE int leaves(void)
{
	struct ftrace_ops ops = {.func = on_leave};
	struct sigaction sa = {.sa_handler = jump_back};
	pthread_t thread;
	int err;

	alarm(60);
	sigaction(SIGUSR1, &sa, NULL);
	if (ftrace_set_filter(&ops, "traced_helper", 13, 1))
		abort();
	for (how_to_leave = 0; how_to_leave < 4; how_to_leave++) {
		if (register_ftrace_function(&ops))
			abort();
		seen = 0;
		if (!sigsetjmp(back, 1)) {
			if (how_to_leave == 3) {
				pthread_create(&thread, NULL, call_once, NULL);
				pthread_join(thread, NULL);
			} else {
				traced_helper(1);
			}
		}
		if (how_to_leave != 3 && !sigsetjmp(back, 1))
			traced_helper(1);
		err = unregister_ftrace_function(&ops);
		printf("left %d seen %lu unregister %d\n", how_to_leave, seen, err);
		if (ftrace_set_filter(&ops, "traced_helper", 13, 1))
			abort();
	}
	return 0;
}

static NOTRACE int forks(void)
{
	struct ftrace_ops ops = {.func = on_leave};
	int status = 0, err;

	alarm(60);
	how_to_leave = 4;
	if (ftrace_set_filter(&ops, "traced_helper", 13, 1) || register_ftrace_function(&ops))
		abort();
	traced_helper(1);
	how_to_leave = 0;
	traced_helper(1);
	err = unregister_ftrace_function(&ops);
	if (!forked) {
		/* one call in its parent, one of its own */
		_exit(seen != 2 || wrong || err ? 1 : 0);
	}
	if (waitpid(forked, &status, 0) != forked)
		status = -1;
	printf("fork seen %lu wrong %lu unregister %d child %d\n", seen, wrong, err, status);
	return 0;
}

/* A callback that takes longer than anybody waits for. */
static NOTRACE void on_slow(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *op,
			    struct ftrace_regs *fregs)
{
	__atomic_fetch_add(&seen, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		usleep(1000);
	(void)ip;
	(void)parent_ip;
	(void)op;
	(void)fregs;
}

static NOTRACE int slow(void)
{
	struct ftrace_ops ops = {.func = on_slow};
	char status[4096] = "";
	pthread_t thread;
	int err, again, files;

	alarm(90);
	if (ftrace_set_filter(&ops, "traced_helper", 13, 1) || register_ftrace_function(&ops))
		abort();
	pthread_create(&thread, NULL, call_once, NULL);
	while (!__atomic_load_n(&seen, __ATOMIC_RELAXED))
		usleep(1000);
	err = unregister_ftrace_function(&ops);
	files = (int)vestige_read("vestige_status", status, sizeof(status) - 1);
	/* it is off, and not gone: its memory must stay */
	again = register_ftrace_function(&ops);
	stop = 1;
	pthread_join(thread, NULL);
	printf("slow %d files %d said %d again %d then %d\n", err, files > 0,
	       !!strstr(status, "a thread stays in a callback"), again,
	       unregister_ftrace_function(&ops));
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

static NOTRACE int later(const char *path)
{
	struct ftrace_ops ops = {.func = on_busy};
	int (*work)(int), state = 42;
	unsigned long before;
	void *lib;

	ops.private_data = &state;
	if (register_ftrace_function(&ops))
		abort();
	lib = dlopen(path, RTLD_NOW);
	if (!lib)
		abort();
	*(void **)&work = dlsym(lib, "work_one");
	before = seen;
	work(100);
	before = seen - before;
	printf("later seen %lu unregister %d\n", before, unregister_ftrace_function(&ops));
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
	if (!strcmp(what, "leave"))
		return leaves();
	if (!strcmp(what, "fork"))
		return forks();
	if (!strcmp(what, "slow"))
		return slow();
	if (!strcmp(what, "later") && argc > 2)
		return later(argv[2]);
	if (!strcmp(what, "files"))
		return files(argc > 2 ? atoi(argv[2]) : 100);
	return returns();
}
