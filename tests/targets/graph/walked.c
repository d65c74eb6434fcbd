/* SPDX-License-Identifier: MIT */
/*
 * walked - prints its stack as the nongnu libunwind sees it, unw_step() by unw_step() and by
 * unw_backtrace(): in calls, in a function with an aligned frame, in signal handlers on both kinds
 * of stack, in a thread, in qsort's callback.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libunwind.h"

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))
#define KEEP()	 __asm__ volatile("" ::: "memory")

enum { FRAMES = 64 };

int unw_backtrace(void **frames, int room);

static NOTRACE void print(const char *how, void **frame, int n)
{
	const char *slash;
	Dl_info info;
	int i;

	for (i = 0; i < n; i++) {
		if (!dladdr(frame[i], &info)) {
			printf("  %s nowhere\n", how);
			continue;
		}
		slash = strrchr(info.dli_fname, '/');
		printf("  %s %s+%#zx %s\n", how, slash ? slash + 1 : info.dli_fname,
		       (size_t)((char *)frame[i] - (char *)info.dli_fbase),
		       info.dli_sname ? info.dli_sname : "");
	}
	fflush(stdout);
}

NOINLINE int show(const char *what)
{
	void *frame[FRAMES];

	puts(what);
	print("step", frame, libunwind_walk(frame, FRAMES));
	print("backtrace", frame, unw_backtrace(frame, FRAMES));
	return 1;
}

NOINLINE int recursive(int n, const char *what)
{
	int r = n ? recursive(n - 1, what) : show(what);

	KEEP();
	return r + 1;
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, const char *what)
{
	int r = recursive(2, what);

	KEEP();
	return r + a + b + c + d + e + f + g + h;
}

NOINLINE int aligned(const char *what)
{
	_Alignas(64) char buffer[128];
	int r;

	memset(buffer, 0, sizeof(buffer));
	r = many(1, 2, 3, 4, 5, 6, 7, 8, what);
	__asm__ volatile("" ::"r"(buffer) : "memory");
	return r;
}

NOINLINE void handler(int sig)
{
	recursive(1, sig == SIGUSR1 ? "in a handler" : "in a handler on its own stack");
	KEEP();
}

NOINLINE int compare(const void *a, const void *b)
{
	static int calls;

	if (++calls == 3)
		show("in qsort's callback");
	KEEP();
	return *(const int *)a - *(const int *)b;
}

NOINLINE void raiser(int sig)
{
	raise(sig);
	KEEP();
}

NOINLINE void *thread(void *arg)
{
	aligned("in a thread");
	return arg;
}

NOINLINE int main(void)
{
	int numbers[] = {5, 3, 8, 1, 9, 2};
	struct sigaction sa = {.sa_handler = handler};
	stack_t ss = {.ss_size = 256 * 1024};
	pthread_t t;

	aligned("in calls");
	sigaction(SIGUSR1, &sa, NULL);
	raiser(SIGUSR1);
	ss.ss_sp = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
	sa.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &sa, NULL);
	raiser(SIGUSR2);
	qsort(numbers, 6, sizeof(int), compare);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	return 0;
}
