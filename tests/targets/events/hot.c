/* SPDX-License-Identifier: MIT */
/*
 * A thread that spends its time in calls of hot_leaf(), fewer of warm_leaf(), and some of seldom(),
 * which takes long, until standard input ends. Another one sleeps, and calls idle_leaf() meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define FN __attribute__((noipa))

static int stop;

FN int hot_leaf(int v)
{
	return v * 7 + 1;
}

FN int warm_leaf(int v)
{
	return v * 5 + 3;
}

FN int seldom(int v)
{
	for (volatile int i = 0; i < 400000; i++)
		v += i;
	return v;
}

FN int idle_leaf(int v)
{
	return v + 1;
}

FN int middle(int v)
{
	for (int i = 0; i < 2000; i++)
		v = hot_leaf(v);
	for (int i = 0; i < 500; i++)
		v = warm_leaf(v);
	return v;
}

static void *busy(void *arg)
{
	int v = 0;

	pthread_setname_np(pthread_self(), "busy");
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 50; i++)
			v = middle(v);
		v = seldom(v);
	}
	*(volatile int *)arg = v;
	return NULL;
}

static void *idle(void *arg)
{
	const struct timespec ms = {0, 1000000};
	int v = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		v = idle_leaf(v);
		nanosleep(&ms, NULL);
	}
	*(volatile int *)arg = v;
	return NULL;
}

int main(void)
{
	pthread_t t[2];
	int v[2];
	char c;

	pthread_create(&t[0], NULL, busy, &v[0]);
	pthread_create(&t[1], NULL, idle, &v[1]);
	while (read(0, &c, 1) == 1)
		;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	return 0;
}
