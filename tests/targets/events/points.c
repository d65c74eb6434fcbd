/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints with many arguments, one of which is no event. A line of input is a round, answered
 * by `done N`: in round N point(N, -N, "round N", &N, 5, 6, 7) and bare(N) are called, once each;
 * with `storm N` by four threads N times each, and by signals in their midst, answered by `done
 * CALLS` of point().
 */
#include <vestige/tracepoint.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define THREADS 4

DECLARE_TRACE(point,
	      TP_PROTO(int n, long minus, const char *text, const int *where, unsigned char five,
		       short six, unsigned long seven),
	      TP_ARGS(n, minus, text, where, five, six, seven));
DEFINE_TRACE(point);
DECLARE_TRACE(bare, TP_PROTO(int n), TP_ARGS(n));
DEFINE_TRACE(bare);

static long calls;
static int nr, running;
static void *volatile block;

static void call(int n)
{
	char text[32];

	snprintf(text, sizeof(text), "round %d", n);
	trace_point(n, -n, text, &n, 5, -6, 7000000000);
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void on_signal(int sig)
{
	call(sig);
}

static void *work(void *arg)
{
	int i;

	for (i = 0; i < nr; i++)
		call(i);
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
	return arg;
}

static void storm(void)
{
	pthread_t threads[THREADS];
	int i;

	running = THREADS;
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++)
		pthread_kill(threads[i % THREADS], SIGUSR1);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	struct sigaction sa = {};
	char line[64];
	int i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	for (i = 0; fgets(line, sizeof(line), stdin); i++) {
		calls = 0;
		if (sscanf(line, "storm %d", &nr) == 1) {
			storm();
			printf("done %ld\n", calls);
		} else {
			call(i);
			trace_bare(i);
			block = malloc((size_t)i + 1);
			free(block);
			printf("done %d\n", i);
		}
	}
	return 0;
}
