/* SPDX-License-Identifier: MIT */
/*
 * rounds KIND N - N stacks that come and go, each at a place where none was before, and calls on
 * each; for tests/engine/graph/rounds.
 *
 * Kinds: contexts (makecontext), threads, altstacks (sigaltstack, each by a thread of its own),
 * fibers (a switch of the program's own), kept (contexts on stacks that stay mapped). Prints `calls
 * N kib BEGIN END`: the calls that were made, and the private resident memory after a tenth of the
 * stacks and after all.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "fiber_switch.h"

#define NOTRACE	    __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE    __attribute__((noinline))
#define STACK_BYTES 65536ul
#define GUARD_BYTES 4096ul
#define FIRST_PLACE 0x480000000000ul
#define AT_ONCE	    4

static long calls;
static char *next_place = (char *)FIRST_PLACE;

/* A stack where none was, with a page below that is not mapped. */
static NOTRACE char *new_stack(void)
{
	char *place = __atomic_fetch_add(&next_place, STACK_BYTES + GUARD_BYTES, __ATOMIC_RELAXED);
	char *p = mmap(place + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static NOTRACE void old_stack(char *stack)
{
	munmap(stack, STACK_BYTES);
}

static NOTRACE long resident_kib(void)
{
	long pages = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%*d %ld %ld", &pages, &shared) != 2)
		abort();
	fclose(f);
	return (pages - shared) * 4;
}

NOINLINE void counted(long depth)
{
	__asm__ volatile("" : "+r"(depth));
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	if (depth)
		counted(depth - 1);
	__asm__ volatile("");
}

static ucontext_t home, context;
static void *here, *there;

/* its call stays open when the stack is left for good */
NOINLINE void left_open(void)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	counted(2);
	if (here)
		fiber_switch(&there, here);
	swapcontext(&context, &home);
	abort();
}

static NOTRACE void one_context(int keep)
{
	char *stack = new_stack();

	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, left_open, 0);
	swapcontext(&home, &context);
	if (!keep)
		old_stack(stack);
}

static NOTRACE void on_signal(int sig)
{
	(void)sig;
	counted(2);
}

/* Return: a signal stack that is set, until the thread is gone. */
static NOTRACE void *thread(void *arg)
{
	stack_t ss;

	counted(1);
	if (!arg)
		return NULL;
	memset(&ss, 0, sizeof(ss));
	ss.ss_sp = new_stack();
	ss.ss_size = STACK_BYTES;
	sigaltstack(&ss, NULL);
	raise(SIGUSR1);
	if ((long)arg & 1)
		return ss.ss_sp;
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	old_stack(ss.ss_sp);
	return NULL;
}

static NOTRACE void threads(long n, int with_altstack)
{
	char *stacks[AT_ONCE];
	pthread_t t[AT_ONCE];
	pthread_attr_t attr;
	void *left;
	long i;

	pthread_attr_init(&attr);
	for (i = 0; i < n; i++) {
		stacks[i] = new_stack();
		pthread_attr_setstack(&attr, stacks[i], STACK_BYTES);
		if (pthread_create(&t[i], &attr, thread, with_altstack ? (void *)(i + 2) : NULL))
			abort();
	}
	for (i = 0; i < n; i++) {
		pthread_join(t[i], &left);
		old_stack(stacks[i]);
		if (left)
			old_stack(left);
	}
	pthread_attr_destroy(&attr);
}

static NOTRACE void fiber(void *arg)
{
	(void)arg;
	left_open();
}

static NOTRACE void one_fiber(void)
{
	char *stack = new_stack();
	void **top = (void **)(stack + STACK_BYTES - 64);

	*--top = (void *)fiber_start;
	*--top = NULL;
	*--top = NULL;
	*--top = (void *)fiber;
	*--top = NULL;
	*--top = NULL;
	*--top = NULL;
	fiber_switch(&here, top);
	old_stack(stack);
}

static NOTRACE void on(int sig, void (*handler)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_ONSTACK;
	sigaction(sig, &sa, NULL);
}

NOTRACE int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 1, i = 0, first = 0;

	on(SIGUSR1, on_signal);
	while (i < n) {
		if (!strcmp(kind, "contexts") || !strcmp(kind, "kept")) {
			one_context(kind[0] == 'k');
			i++;
		} else if (!strcmp(kind, "fibers")) {
			one_fiber();
			i++;
		} else if (!strcmp(kind, "threads") || !strcmp(kind, "altstacks")) {
			threads(AT_ONCE, kind[0] == 'a');
			i += AT_ONCE;
		} else {
			return 2;
		}
		if (!first && i >= n / 10)
			first = resident_kib();
	}
	printf("calls %ld kib %ld %ld\n", calls, first, resident_kib());
	return 0;
}
