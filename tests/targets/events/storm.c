/* SPDX-License-Identifier: MIT */
/*
 * Four threads make events, with a marker and a call of mix() each, while signals make more of the
 * same in their midst. One line of input, N: N events a thread; the answer is `done TOTAL` and then
 * a line `KEY COUNT` for each key, counted by the program itself.
 */
#define _GNU_SOURCE
#include <vestige/event.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/sdt.h>

#define KEYS	37
#define THREADS 4

VESTIGE_EVENT(storm, blow, (int, key), (const char *, where), (unsigned long, bytes));

static long counts[KEYS];
static int nr, running;

/* Each of its instructions once a call. */
static __attribute__((noinline)) long mix(long key)
{
	__asm__ volatile("" : "+r"(key));
	return key * 31 + 0x1234560 - (key & 0xff);
}

static void blow(int key, const char *where)
{
	DTRACE_PROBE2(storm, blown, key, where);
	if (mix(key) != key * 31 + 0x1234560 - key)
		abort();
	trace_blow(key, where, 10ul * (unsigned long)key);
	__atomic_fetch_add(&counts[key], 1, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
	static int n;

	(void)sig;
	blow(__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % KEYS, "signal");
}

static void *work(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < nr; i++)
		blow(i % KEYS, "thread");
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

int main(void)
{
	struct sigaction sa = {};
	pthread_t threads[THREADS];
	char line[64];
	long total;
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		nr = atoi(line);
		running = THREADS;
		for (i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, work, NULL);
		for (i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++)
			pthread_kill(threads[i % THREADS], SIGUSR1);
		for (i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		for (total = 0, i = 0; i < KEYS; i++)
			total += counts[i];
		printf("done %ld\n", total);
		for (i = 0; i < KEYS; i++)
			printf("%d %ld\n", i, counts[i]);
	}
	return 0;
}
