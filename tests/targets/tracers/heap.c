/* SPDX-License-Identifier: MIT */
/*
 * heap: for each line `go` allocations of a known number and size from known functions, then
 * `done 0`; `old` releases blocks that were there before; `threads` does it in four threads at
 * once; `exit` ends. With an argument it does one round and ends, for valgrind.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLED __attribute__((noipa, noinline))

/* Of each thread: `free(keep)` must release what that thread allocated. */
static _Thread_local void *volatile keep;
static void *old[10];

static CALLED void leaks(void)
{
	for (int i = 0; i < 10; i++)
		keep = malloc(100);
	keep = NULL;
}

static CALLED void temporary(void)
{
	for (int i = 0; i < 1000; i++) {
		keep = malloc(24);
		free(keep);
	}
	keep = NULL;
}

/* 50 of 1000 bytes at once. */
static CALLED void peak(void)
{
	void *all[50];

	for (int i = 0; i < 50; i++)
		all[i] = calloc(10, 100);
	for (int i = 0; i < 50; i++)
		free(all[i]);
}

static CALLED void *xmalloc(size_t bytes)
{
	void *p = malloc(bytes);

	if (!p)
		abort();
	return p;
}

static CALLED void *my_alloc(size_t bytes)
{
	char *p = xmalloc(bytes + 8);

	return p;
}

static CALLED void by_xmalloc(void)
{
	for (int i = 0; i < 7; i++)
		keep = xmalloc(64);
	keep = NULL;
}

static CALLED void by_my_alloc(void)
{
	for (int i = 0; i < 3; i++)
		keep = my_alloc(40);
	keep = NULL;
}

static CALLED void grows(void)
{
	char *p = NULL;

	for (int i = 1; i <= 5; i++)
		p = realloc(p, 200 * (size_t)i);
	free(p);
}

static CALLED void *all(void *arg)
{
	leaks();
	temporary();
	peak();
	by_xmalloc();
	by_my_alloc();
	grows();
	return arg;
}

int main(int argc, char **argv)
{
	char line[64];

	(void)argv;
	setvbuf(stdout, NULL, _IONBF, 0);
	setvbuf(stdin, NULL, _IONBF, 0);
	for (int i = 0; i < 10; i++)
		old[i] = malloc(500);
	if (argc > 1) {
		all(NULL);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "go\n")) {
			all(NULL);
		} else if (!strcmp(line, "old\n")) {
			for (int i = 0; i < 10; i++)
				free(old[i]);
		} else if (!strcmp(line, "threads\n")) {
			pthread_t t[4];

			for (int i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, all, NULL);
			for (int i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
		}
		puts("done 0");
	}
	return 0;
}
