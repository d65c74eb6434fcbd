/* SPDX-License-Identifier: MIT */
/*
 * setjmp and longjmp in their forms: out of the depth, again and again, out of signal handlers on
 * both kinds of stack, followed by alloca and calls with stack arguments.
 */
#include "transcript.h"

#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static jmp_buf plain, outer;
static sigjmp_buf with_mask;

static NOINLINE int down(int n, int value)
{
	int r;

	if (!n)
		longjmp(plain, value);
	r = down(n - 1, value);
	KEEP();
	return r + 1;
}

static NOINLINE int _down(int n, int value)
{
	int r;

	if (!n)
		_longjmp(plain, value);
	r = _down(n - 1, value);
	KEEP();
	return r + 1;
}

static NOINLINE long wide(long a, long b, long c, long d, long e, long f, long g, long h, long i)
{
	KEEP();
	return a + b + c + d + e + f + g + h + i;
}

static NOINLINE int up(int n)
{
	KEEP();
	return n ? up(n - 1) + 1 : 0;
}

static NOINLINE int jumps(void)
{
	volatile int times = 0, sum = 0;
	int got = setjmp(plain);

	sum += got;
	if (times++ < 20)
		down(times, times);
	return sum;
}

static NOINLINE int then_alloca(void)
{
	volatile int i, sum = 0;

	for (i = 1; i < 10; i++) {
		if (!setjmp(plain)) {
			down(i, 1);
		} else {
			char *p = alloca((size_t)i * 40);

			memset(p, i, (size_t)i * 40);
			sum += up(i) + p[i * 40 - 1];
			sum += (int)wide(1, 2, 3, 4, 5, 6, 7, 8, 9);
		}
	}
	return sum;
}

static NOINLINE int underscored(void)
{
	volatile int sum = 0;

	if (!_setjmp(plain))
		_down(5, 3);
	else
		sum += up(7);
	return sum;
}

static NOINLINE int inner(int n)
{
	if (!setjmp(plain))
		down(n, 1);
	/* past the frame that plain belongs to */
	if (n % 3 == 0)
		longjmp(outer, n);
	return up(n);
}

static NOINLINE int nested(void)
{
	volatile int i, sum = 0;

	for (i = 1; i < 12; i++) {
		int got = setjmp(outer);

		if (got)
			sum += got * 100;
		else
			sum += inner(i);
	}
	return sum;
}

static NOINLINE void handler(int sig)
{
	up(3);
	siglongjmp(with_mask, sig == SIGUSR1 ? 1 : 2);
}

static NOINLINE int raiser(int sig, int n)
{
	int r;

	if (!n)
		raise(sig);
	r = n ? raiser(sig, n - 1) : 0;
	KEEP();
	return r;
}

static NOINLINE int out_of_handler(int sig)
{
	volatile int i, sum = 0;
	sigset_t set;

	for (i = 0; i < 10; i++) {
		int got = sigsetjmp(with_mask, 1);

		if (got)
			sum += got * 10 + up(i);
		else
			raiser(sig, i);
	}
	sigprocmask(SIG_BLOCK, NULL, &set);
	return sum * 10 + sigismember(&set, sig);
}

/* the mask is not kept: the signal stays blocked, and is unblocked by hand */
static NOINLINE int without_mask(void)
{
	volatile int blocked = 0;
	sigset_t set;

	if (!sigsetjmp(with_mask, 0)) {
		raiser(SIGUSR1, 2);
	} else {
		sigprocmask(SIG_BLOCK, NULL, &set);
		blocked = sigismember(&set, SIGUSR1);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	return blocked;
}

/* the compiler's own pair, which no library function sees */
static void *buffer[5];

static NOINLINE void builtin_down(int n)
{
	if (!n)
		__builtin_longjmp(buffer, 1);
	builtin_down(n - 1);
	KEEP();
}

static NOINLINE int builtin(void)
{
	volatile int n = 0;

	if (__builtin_setjmp(buffer)) {
		n += up(4);
		if (n > 20)
			return n;
	}
	n++;
	builtin_down(n % 5);
	return -1;
}

/* C's clean-up handlers: libc jumps to a buffer of its own in each frame that has one */
static int cleaned;

static NOINLINE void cleanup(void *arg)
{
	cleaned = cleaned * 3 + (int)(intptr_t)arg + up(2);
}

static NOINLINE void exits(int n, int how)
{
	pthread_cleanup_push(cleanup, (void *)(intptr_t)n);
	if (n) {
		exits(n - 1, how);
	} else if (how) {
		pthread_exit((void *)5);
	} else {
		pthread_cancel(pthread_self());
		for (;;)
			pause();
	}
	KEEP();
	pthread_cleanup_pop(0);
}

static NOINLINE void *exiting(void *arg)
{
	up(4);
	exits(5, arg != NULL);
	return NULL;
}

static NOINLINE void thread_ends(int how)
{
	void *result = NULL;
	pthread_t t;

	cleaned = 1;
	say_flush();
	pthread_create(&t, NULL, exiting, how ? &cleaned : NULL);
	pthread_join(t, &result);
	say("ended %ld, cleaned %d", (long)(intptr_t)result, cleaned);
}

void section_jumps(void)
{
	struct sigaction sa, old1, old2;
	stack_t ss;

	say("jumps %d", jumps());
	say("then alloca %d", then_alloca());
	say("underscored %d", underscored());
	say("nested %d", nested());
	memset(&sa, 0, sizeof(sa));
	memset(&ss, 0, sizeof(ss));
	sa.sa_handler = handler;
	sigaction(SIGUSR1, &sa, &old1);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, &old2);
	say("out of a handler %d", out_of_handler(SIGUSR1));
	ss.ss_size = 256 * 1024;
	ss.ss_sp =
		mmap(NULL, ss.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&ss, NULL);
	say("out of a handler on its stack %d", out_of_handler(SIGUSR2));
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	munmap(ss.ss_sp, ss.ss_size);
	say("without the mask %d", without_mask());
	sigaction(SIGUSR1, &old1, NULL);
	sigaction(SIGUSR2, &old2, NULL);
	thread_ends(0);
	thread_ends(1);
#ifndef SANITIZED
	say("built in %d", builtin());
#endif
}
