/* SPDX-License-Identifier: MIT */
/*
 * interposer - a program with a malloc of its own in front of libc's, found by dlsym(RTLD_NEXT) at
 * the first call; dlsym itself may allocate. Four threads allocate. Prints how often each was
 * called since main began, without allocating.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTRACE	 __attribute__((noinline, patchable_function_entry(0)))
#define NOINLINE __attribute__((noinline))

enum { THREADS = 4, ROUNDS = 2000 };

static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static void *(*next_realloc)(void *, size_t);
static void *(*next_calloc)(size_t, size_t);
static char early[65536];
static size_t early_used;
static int resolving, counting;
static unsigned long calls[4];

static NOTRACE void resolve(void)
{
	resolving = 1;
	next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	next_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	resolving = 0;
}

static NOTRACE void *take_early(size_t n)
{
	void *p = early + early_used;

	early_used += (n + 31) & ~(size_t)15;
	return p;
}

static NOTRACE int is_early(const void *p)
{
	return (const char *)p >= early && (const char *)p < early + sizeof(early);
}

static NOTRACE void count(int which)
{
	if (__atomic_load_n(&counting, __ATOMIC_ACQUIRE))
		__atomic_fetch_add(&calls[which], 1, __ATOMIC_RELAXED);
}

NOINLINE void *malloc(size_t n)
{
	void *p;

	count(0);
	if (!next_malloc && resolving)
		return take_early(n);
	if (!next_malloc)
		resolve();
	p = next_malloc(n);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE void free(void *p)
{
	count(1);
	if (is_early(p))
		return;
	if (!next_free)
		resolve();
	next_free(p);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void *realloc(void *p, size_t n)
{
	count(2);
	if (!next_realloc)
		resolve();
	if (is_early(p)) {
		void *to = next_malloc(n);

		memcpy(to, p, n);
		return to;
	}
	p = next_realloc(p, n);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE void *calloc(size_t n, size_t size)
{
	void *p;

	count(3);
	if (!next_calloc && resolving)
		return take_early(n * size);
	if (!next_calloc)
		resolve();
	p = next_calloc(n, size);
	__asm__ volatile("" : "+r"(p));
	return p;
}

NOINLINE void *work(void *arg)
{
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		char *p = malloc(i % 700 + 1), *q = calloc(3, i % 50 + 1);

		__asm__ volatile("" : "+r"(p), "+r"(q));
		p = realloc(p, i + 10);
		free(p);
		free(q);
	}
	return arg;
}

NOINLINE int run(void)
{
	pthread_t t[THREADS];
	char text[100];
	int i, n;

	__atomic_store_n(&counting, 1, __ATOMIC_RELEASE);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	__atomic_store_n(&counting, 0, __ATOMIC_RELEASE);
	n = snprintf(text, sizeof(text), "malloc %lu free %lu realloc %lu\n", calls[0], calls[1],
		     calls[2]);
	return write(1, text, (size_t)n) != n;
}

int main(void)
{
	return run();
}
