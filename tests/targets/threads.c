/* SPDX-License-Identifier: MIT */
/* Sixteen threads at once, then two hundred that live shortly; counts of each of the former. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target.h"

#define THREADS 16

static int tids[THREADS];
static pthread_barrier_t barrier;

static NOINLINE unsigned int work(unsigned int n)
{
	COUNTED;
	return n * 2654435761u;
}

static void *body(void *arg)
{
	int i, me = (int)(long)arg;
	unsigned int x = 1;

	COUNTED;
	tids[me] = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < 1000 * (me + 1); i++)
		x = work(x);
	return (void *)(long)x;
}

static void *brief(void *arg)
{
	COUNTED;
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	long i;

	COUNTED;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, body, (void *)i);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 200; i++) {
		pthread_create(&t[0], NULL, brief, NULL);
		pthread_join(t[0], NULL);
	}
	for (i = 0; i < THREADS; i++)
		printf("task %d %ld\n", tids[i], 1000 * (i + 1) + 1);
	print_counts();
	return 0;
}
