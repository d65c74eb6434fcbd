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
#include <sys/wait.h>
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
