/* SPDX-License-Identifier: MIT */
/*
 * A program whose functions take dynamic probes: each line of its input is a round, answered with
 * `done N`, N the round's number; what its functions are called with is known from N.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct pair {
	uint32_t a;
	uint16_t b[3];
	const char *text;
	struct pair *next;
};

struct pair table[2] = {{7, {1, 2, 3}, "first", &table[1]}, {8, {4, 5, 6}, "second", NULL}};
int counter = 41;

/* Their names are the same in C++. */
NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h);
NOINLINE int work(int n, const char *s, struct pair *p);
NOINLINE int tail(int n);
NOINLINE int tailed(int n);
NOINLINE int depth(int n);
NOINLINE void nothing(void);
NOINLINE double half(double v);
NOINLINE void leaper(int n);
NOINLINE void ender(int n);

long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c + d + e + f + g + h;
}

int work(int n, const char *s, struct pair *p)
{
	__asm__ volatile("" ::"r"(s) : "memory");
	return (int)p->a * n;
}

int tailed(int n)
{
	__asm__ volatile("" ::: "memory");
	return n + 100;
}

int tail(int n)
{
	__asm__ volatile("" ::: "memory");
	return tailed(n + 1);
}

int depth(int n)
{
	int r;

	__asm__ volatile("" ::: "memory");
	r = n ? depth(n - 1) + 1 : 0;
	__asm__ volatile("" : "+r"(r));
	return r;
}

void nothing(void)
{
	__asm__ volatile("" ::: "memory");
}

double half(double v)
{
	__asm__ volatile("" ::: "memory");
	return v / 2;
}

static jmp_buf back;

/* Leaves by a jump, from so deep. */
void leaper(int n)
{
	__asm__ volatile("" ::: "memory");
	if (n)
		leaper(n - 1);
	else if (counter)
		longjmp(back, 1);
	__asm__ volatile("" ::: "memory");
}

static void leap(int n)
{
	volatile int i;

	for (i = 0; i < n; i++)
		if (!setjmp(back))
			leaper(i % 100);
}

static void *thread(void *arg)
{
	long i, n = (long)arg;

	for (i = 0; i < n; i++)
		if (work((int)i, "thread", &table[1]) != 8 * i)
			abort();
	return NULL;
}

static void threads(long n)
{
	pthread_t t[4];
	int i;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, (void *)n);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

/* Calls that never return, each on a stack of its own: ended so deep in a thread, or dropped. */
enum { ENDER_DEPTH = 100, ENDER_BYTES = 65536 };
static ucontext_t ender_from, ender_to;
static pthread_barrier_t deep_in, deep_out;
static int ender_how; /* 0: pthread_exit(), 1: a switch, 2: it waits */

void ender(int n)
{
	__asm__ volatile("" ::: "memory");
	if (n)
		ender(n - 1);
	else if (!ender_how)
		pthread_exit(NULL);
	else if (ender_how == 1)
		swapcontext(&ender_to, &ender_from);
	else {
		pthread_barrier_wait(&deep_in);
		pthread_barrier_wait(&deep_out);
	}
	__asm__ volatile("" ::: "memory");
}

static void *ending_thread(void *arg)
{
	ender((int)(long)arg);
	return NULL;
}

static void ending_context(void)
{
	ender(ENDER_DEPTH);
}

static void end_on(char *stack)
{
	pthread_attr_t attr;
	pthread_t t;

	if (ender_how == 1) {
		getcontext(&ender_to);
		ender_to.uc_stack.ss_sp = stack;
		ender_to.uc_stack.ss_size = ENDER_BYTES;
		makecontext(&ender_to, ending_context, 0);
		swapcontext(&ender_from, &ender_to);
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, ENDER_BYTES);
	if (pthread_create(&t, &attr, ending_thread, (void *)(long)ENDER_DEPTH) ||
	    pthread_join(t, NULL))
		abort();
	pthread_attr_destroy(&attr);
}

static void ends(int how, int n)
{
	size_t bytes = (size_t)n * ENDER_BYTES;
	char *stacks = (char *)mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int i;

	if (stacks == (char *)MAP_FAILED)
		abort();
	ender_how = how;
	for (i = 0; i < n; i++)
		end_on(stacks + (size_t)i * ENDER_BYTES);
	munmap(stacks, bytes);
}

static void round_of(int n);

/* A child while other threads are deep in calls, which it does not have. */
static void forks_beside(int n, int round)
{
	pthread_t t[16];
	int i;

	ender_how = 2;
	pthread_barrier_init(&deep_in, NULL, 17);
	pthread_barrier_init(&deep_out, NULL, 17);
	for (i = 0; i < 16; i++)
		pthread_create(&t[i], NULL, ending_thread, (void *)(long)(n / 16));
	pthread_barrier_wait(&deep_in);
	if (!fork()) {
		round_of(round);
		_exit(0);
	}
	wait(NULL);
	pthread_barrier_wait(&deep_out);
	for (i = 0; i < 16; i++)
		pthread_join(t[i], NULL);
}

static void round_of(int n)
{
	char s[32];

	snprintf(s, sizeof(s), "round %d", n);
	work(n, s, &table[n & 1]);
	many(n, 2, -3, 4, 5, 6, 7, 0x12345678);
	work(-n, n % 3 ? s : (const char *)16, table);
	if (tail(n) != n + 101 || depth(3) != 3 || half(3.0) != 1.5)
		abort();
	nothing();
	fflush(stdout);
}

int main(void)
{
	char line[64];
	int n, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (n = 0; fgets(line, sizeof(line), stdin); n++) {
		if (sscanf(line, "threads %d", &i) == 1) {
			threads(i);
		} else if (!strcmp(line, "where\n")) {
			printf("done %lx %lx %d\n", (unsigned long)&work, (unsigned long)&counter,
			       (int)getpid());
			continue;
		} else if (sscanf(line, "deep %d", &i) == 1) {
			if (depth(i) != i)
				abort();
		} else if (sscanf(line, "leap %d", &i) == 1) {
			leap(i);
		} else if (sscanf(line, "ends %d", &i) == 1) {
			ends(0, i);
		} else if (sscanf(line, "drops %d", &i) == 1) {
			ends(1, i);
		} else if (sscanf(line, "forks %d", &i) == 1) {
			forks_beside(i, n);
		} else if (!strcmp(line, "fork\n")) {
			if (!fork()) {
				round_of(n);
				_exit(0);
			}
			wait(NULL);
		} else {
			round_of(n);
		}
		printf("done %d\n", n);
	}
	return 0;
}
