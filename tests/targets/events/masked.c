/* SPDX-License-Identifier: MIT */
/*
 * A program that blocks signals for a known time. One command a line; MS is that time. The answer
 * is `done`, the time in us by its own clock, and the thread's id:
 *
 *	mask MS		SIGUSR1 is blocked for MS, among thousands of short masks
 *	thread MS	the same in a thread that was made while SIGUSR2 was blocked, which it stays
 *	handler MS	a handler runs for MS; own		on a stack of its own
 *	work MS		a work item takes MS, then a handler that interrupts it
 *	leave MS	a handler runs for MS and leaves by siglongjmp()
 *	inside MS	a handler that blocks more, waits MS, and returns
 *	wait MS		SIGUSR1 is blocked except while sigsuspend() waits: most of the time, until
 *			an alarm
 *	accept MS	the same with sigtimedwait()
 *	both MS		a mask for MS; a lock covers its end and as much time after it
 *	block, open	SIGUSR1 is blocked, or not, from now on
 *	fork MS		a child blocks it for MS, and ends; the printed time is the parent's: 0
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <vestige/workqueue.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char other_stack[65536];
static sigjmp_buf env;
static sigset_t usr1, usr2;
static long handler_ms;
static unsigned long handler_took;
static int handler_leaves, handler_blocks, thread_tid;

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

__attribute__((noinline)) unsigned long spend(long ms)
{
	unsigned long from = now_ns(), now;

	do
		now = now_ns();
	while (now - from < (unsigned long)ms * 1000000);
	return now - from;
}

__attribute__((noinline)) unsigned long mask_for(long ms)
{
	unsigned long took;

	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	took = spend(ms);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	return took;
}

static unsigned long mask_among(long ms)
{
	unsigned long took = 0;
	sigset_t old;

	for (int i = 0; i < 2000; i++) {
		sigprocmask(SIG_BLOCK, &usr1, &old);
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (i == 1000)
			took = mask_for(ms);
	}
	return took;
}

static unsigned long thread_took;

static void *in_thread(void *arg)
{
	thread_tid = gettid();
	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	thread_took = mask_for((long)arg);
	return NULL;
}

static unsigned long thread_for(long ms)
{
	pthread_t t;

	pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	pthread_create(&t, NULL, in_thread, (void *)ms);
	pthread_sigmask(SIG_UNBLOCK, &usr2, NULL);
	pthread_join(t, NULL);
	return thread_took;
}

void handle(int sig)
{
	(void)sig;
	if (handler_blocks)
		pthread_sigmask(SIG_BLOCK, &usr2, NULL);
	handler_took = spend(handler_ms);
	if (handler_leaves)
		siglongjmp(env, 1);
}

static unsigned long handler_for(long ms, int sig)
{
	handler_ms = ms;
	if (!sigsetjmp(env, 1))
		raise(sig);
	handler_leaves = handler_blocks = 0;
	return handler_took;
}

static void nothing(int sig)
{
	(void)sig;
}

/* Two masks with a wait between them. */
static unsigned long wait_for(long ms, int accepts)
{
	struct itimerval t = {.it_value = {0, ms * 3000}};
	struct timespec ts = {1, 0};
	unsigned long first, second;
	sigset_t none, alarm_set;

	sigemptyset(&none);
	sigemptyset(&alarm_set);
	sigaddset(&alarm_set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm_set, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	first = spend(ms);
	if (accepts)
		sigtimedwait(&alarm_set, NULL, &ts);
	else
		sigsuspend(&none);
	second = spend(ms);
	pthread_sigmask(SIG_UNBLOCK, &alarm_set, NULL);
	return first > second ? first : second;
}

static unsigned long both(long ms)
{
	unsigned long from;

	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	from = now_ns();
	spend(ms / 2);
	pthread_mutex_lock(&lock);
	spend(ms - ms / 2);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	spend(ms);
	from = now_ns() - from;
	pthread_mutex_unlock(&lock);
	return from;
}

static void set_up(void)
{
	stack_t s = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction a = {.sa_handler = handle};

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigaltstack(&s, NULL);
	sigaction(SIGUSR1, &a, NULL);
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGURG, &a, NULL);
	signal(SIGALRM, nothing);
}

static unsigned long work(long ms)
{
	unsigned long took;

	vestige_work_queue("pool", &usr1);
	vestige_work_start("pool", &usr1);
	took = spend(ms);
	handler_for(ms, SIGURG);
	vestige_work_end("pool", &usr1);
	return took;
}

int main(void)
{
	char line[256], word[64];
	unsigned long took;
	long n;

	set_up();
	while (fgets(line, sizeof(line), stdin)) {
		n = took = 0;
		thread_tid = gettid();
		if (sscanf(line, "%63s %ld", word, &n) < 1)
			continue;
		if (!strcmp(word, "mask")) {
			took = mask_among(n);
		} else if (!strcmp(word, "thread")) {
			took = thread_for(n);
		} else if (!strcmp(word, "handler")) {
			took = handler_for(n, SIGUSR1);
		} else if (!strcmp(word, "own")) {
			took = handler_for(n, SIGURG);
		} else if (!strcmp(word, "leave")) {
			handler_leaves = 1;
			took = handler_for(n, SIGURG);
		} else if (!strcmp(word, "work")) {
			took = work(n);
		} else if (!strcmp(word, "inside")) {
			handler_blocks = 1;
			took = handler_for(n, SIGUSR1);
		} else if (!strcmp(word, "wait") || !strcmp(word, "accept")) {
			took = wait_for(n, !strcmp(word, "accept"));
		} else if (!strcmp(word, "both")) {
			took = both(n);
		} else if (!strcmp(word, "block")) {
			sigprocmask(SIG_BLOCK, &usr1, NULL);
		} else if (!strcmp(word, "open")) {
			sigprocmask(SIG_UNBLOCK, &usr1, NULL);
		} else if (!strcmp(word, "fork")) {
			pid_t pid = fork();

			if (!pid) {
				mask_for(n);
				_exit(0);
			}
			waitpid(pid, NULL, 0);
		}
		printf("done %lu %d\n", took / 1000, thread_tid);
		fflush(stdout);
	}
	return 0;
}
