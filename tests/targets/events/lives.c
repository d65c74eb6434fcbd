/* SPDX-License-Identifier: MIT */
/*
 * Makes threads and processes, and says which: `PARENT CHILD` ids on a line each. A line of input is
 * `threads N`, `detached N`; ended by `done COUNT`.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

static void say(int child)
{
	printf("%d %d\n", gettid(), child);
}

static void *thread(void *arg)
{
	*(volatile int *)arg = gettid();
	return NULL;
}

static int c11_thread(void *arg)
{
	*(volatile int *)arg = gettid();
	return 0;
}

static void threads(int n)
{
	for (int i = 0; i < n; i++) {
		int tid = 0;
		pthread_t t;
		thrd_t c;

		if (i % 2) {
			pthread_create(&t, NULL, thread, &tid);
			pthread_join(t, NULL);
		} else {
			thrd_create(&c, c11_thread, &tid);
			thrd_join(c, NULL);
		}
		say(tid);
	}
}

static void *detached(void *arg)
{
	int *out = arg;

	__atomic_store_n(out, gettid(), __ATOMIC_RELEASE);
	return NULL;
}

static void detach(int n)
{
	static int tids[1000];
	pthread_attr_t attr;
	pthread_t t;

	memset(tids, 0, sizeof(tids));
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < n; i++)
		pthread_create(&t, &attr, detached, &tids[i]);
	for (int i = 0; i < n; i++) {
		while (!__atomic_load_n(&tids[i], __ATOMIC_ACQUIRE))
			usleep(100);
		say(tids[i]);
	}
}

int main(void)
{
	char line[64], what[16];
	int n;

	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %d", what, &n) != 2)
			continue;
		if (!strcmp(what, "threads"))
			threads(n);
		else if (!strcmp(what, "detached"))
			detach(n);
		printf("done %d\n", n);
		fflush(stdout);
	}
	return 0;
}
