/* SPDX-License-Identifier: MIT */
/*
 * A thread that is woken while another one keeps its CPU. A line of input `delay MS PRIO`: the
 * thread waits, with SCHED_FIFO and that priority (0: as an ordinary one); another one on the same
 * CPU, with a higher priority, wakes it and goes on for MS. Answered by `done US WOKEN WAKER`: from
 * just before the wakeup until it ran, and the threads' ids. `twice MS PRIO`: the same twice in a
 * row; the answer is about the second. The thread is there until the next line.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static sem_t woken, over, bye;
static int ms, prio, times, woken_tid, waker_tid;
static int64_t begin, ran;
static volatile int waits;

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void become(int cpu, int to)
{
	struct sched_param p = {.sched_priority = to};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (to)
		sched_setscheduler(0, SCHED_FIFO, &p);
}

static void *wait_for_it(void *arg)
{
	int i;

	woken_tid = gettid();
	pthread_setname_np(pthread_self(), "waiter");
	become(*(int *)arg, prio);
	waits = 1;
	for (i = 0; i < times; i++)
		sem_wait(&woken);
	ran = now();
	sem_post(&over);
	sem_wait(&bye);
	return NULL;
}

__attribute__((noinline)) static void tick(void)
{
	int64_t until = now() + ms * 1000000ll / 10;

	while (now() < until)
		;
}

__attribute__((noinline)) static void keep_the_cpu(void)
{
	int i;

	for (i = 0; i < 10; i++)
		tick();
}

/* Asleep: it has left its CPU. */
static void until_asleep(void)
{
	char path[64], line[256], state = 0;
	FILE *f;

	while (state != 'S') {
		usleep(500);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", woken_tid);
		f = fopen(path, "re");
		if (f && fgets(line, sizeof(line), f))
			sscanf(line, "%*d (%*[^)]) %c", &state);
		if (f)
			fclose(f);
	}
}

static void *wake_it(void *arg)
{
	int i;

	waker_tid = gettid();
	pthread_setname_np(pthread_self(), "waker");
	while (!waits)
		usleep(500);
	until_asleep();
	become(*(int *)arg, prio + 10);
	for (i = 0; i < times; i++) {
		if (i)
			usleep(100); /* it runs and sleeps again */
		begin = now();
		sem_post(&woken);
		keep_the_cpu();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];
	char line[64], word[8];
	int cpu = sched_getcpu();

	sem_init(&woken, 0, 0);
	sem_init(&over, 0, 0);
	sem_init(&bye, 0, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%7s %d %d", word, &ms, &prio) != 3)
			continue;
		if (times) {
			sem_post(&bye);
			pthread_join(t[0], NULL);
		}
		times = word[0] == 't' ? 2 : 1;
		waits = 0;
		pthread_create(&t[0], NULL, wait_for_it, &cpu);
		pthread_create(&t[1], NULL, wake_it, &cpu);
		sem_wait(&over);
		pthread_join(t[1], NULL);
		printf("done %lld %d %d\n", (long long)(ran - begin) / 1000, woken_tid, waker_tid);
		fflush(stdout);
	}
	return 0;
}
