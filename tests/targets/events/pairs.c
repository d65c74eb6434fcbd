/* SPDX-License-Identifier: MIT */
/*
 * Events in pairs. A line of its input: `b ID WHO AMOUNT` begins one, `e ID RESULT NOTE` ends it;
 * `storm N THREADS`: N pairs by each thread, with keys of its own, and signals that make
 * pairs in their midst; `fork ID`: a child makes a pair and lives on with the program. The answer
 * is `done N`, of a storm how many pairs there were, of a fork the child's id.
 */
#define _GNU_SOURCE
#include <vestige/event.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MAX_THREADS 8

VESTIGE_EVENT(pair, begin, (int, id), (const char *, who), (unsigned long, amount));
VESTIGE_EVENT(pair, end, (int, id), (long, result), (const char *, note));

static int nr, running;
static long signals;

static void __attribute__((noinline)) pair(int id, unsigned long amount)
{
	trace_begin(id, "storm", amount);
	trace_end(id, (long)amount + 1, "storm");
}

static void on_signal(int sig)
{
	(void)sig;
	pair((int)(2000000000 + __atomic_fetch_add(&signals, 1, __ATOMIC_RELAXED)), 7);
}

static void *work(void *arg)
{
	int me = (int)(long)arg, i;

	for (i = 0; i < nr; i++)
		pair(me * 1000 + i % 100, (unsigned long)i);
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static long storm(int n, int threads)
{
	pthread_t all[MAX_THREADS];
	int i;

	nr = n;
	running = threads;
	signals = 0;
	for (i = 0; i < threads; i++)
		pthread_create(&all[i], NULL, work, (void *)(long)(i + 1));
	for (i = 0; __atomic_load_n(&running, __ATOMIC_ACQUIRE); i++)
		pthread_kill(all[i % threads], SIGUSR1);
	for (i = 0; i < threads; i++)
		pthread_join(all[i], NULL);
	return (long)n * threads + signals;
}

static long fork_pair(int id)
{
	int ends[2], pid;
	char c;

	if (pipe(ends))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pair(id, (unsigned long)id);
		close(ends[1]);
		for (;;)
			pause();
	}
	close(ends[1]);
	while (read(ends[0], &c, 1) > 0)
		;
	close(ends[0]);
	return pid;
}

int main(void)
{
	struct sigaction sa = {};
	char line[256], word[200];
	unsigned long amount;
	int id, threads;
	long n;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &sa, NULL);
	while (fgets(line, sizeof(line), stdin)) {
		n = 1;
		if (sscanf(line, "b %d %199s %lu", &id, word, &amount) == 3)
			trace_begin(id, word, amount);
		else if (sscanf(line, "e %d %ld %199s", &id, &n, word) == 3)
			trace_end(id, n, word);
		else if (sscanf(line, "storm %d %d", &id, &threads) == 2)
			n = storm(id, threads < MAX_THREADS ? threads : MAX_THREADS);
		else if (sscanf(line, "fork %d", &id) == 1)
			n = fork_pair(id);
		printf("done %ld\n", n);
	}
	return 0;
}
