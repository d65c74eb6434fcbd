/* SPDX-License-Identifier: MIT */
/*
 * A program that holds locks for a known time. One command a line; MS is that time. The answer is
 * `done` and the longest time in us by its own clock, then the id of the thread:
 *
 *	hold MS		a thread holds big_lock for MS, among thousands of short holds by others
 *	overlap MS	one thread holds a lock for MS; another one its own for half of that, within
 *			it
 *	wait MS		a thread holds big_lock for MS while another one waits for it
 *	made MS		holds a lock in the middle of a block of memory that make_lock() gets
 *	sorts MS	each sort of lock once, each 1 ms longer than the one before, from MS on
 *	nested MS	a recursive mutex three times, a lock within it, in crossed order
 *	before MS	takes big_lock; `after` gives it back
 *	loop N		N thousand short holds
 *	fork		a child goes on with the commands that follow
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t small_locks[4] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				  PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER, other_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t robust_lock, pi_lock, again_lock;
pthread_rwlock_t rw_lock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin_lock;
mtx_t c11_lock;
static int stop;

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

__attribute__((noinline)) void tick(unsigned long until)
{
	while (now_ns() < until)
		;
}

/* In steps of a tenth, which the trace shows. */
__attribute__((noinline)) unsigned long spend(long ms)
{
	unsigned long from = now_ns(), all = (unsigned long)ms * 1000000;

	for (int i = 1; i <= 10; i++)
		tick(from + all * (unsigned long)i / 10);
	return now_ns() - from;
}

__attribute__((noinline)) unsigned long keep_big(long ms)
{
	unsigned long took;

	pthread_mutex_lock(&big_lock);
	took = spend(ms);
	pthread_mutex_unlock(&big_lock);
	return took;
}

static void *short_holds(void *arg)
{
	pthread_mutex_t *lock = arg;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(lock);
		pthread_mutex_unlock(lock);
	}
	return NULL;
}

static unsigned long hold(long ms)
{
	pthread_t t[2];
	unsigned long took;

	stop = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, short_holds, &small_locks[i]);
	took = keep_big(ms);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return took;
}

static int inner_is_done;

static void *inner(void *arg)
{
	pthread_mutex_lock(&other_lock);
	spend((long)arg);
	pthread_mutex_unlock(&other_lock);
	__atomic_store_n(&inner_is_done, 1, __ATOMIC_RELEASE);
	return NULL;
}

__attribute__((noinline)) unsigned long keep_around(long ms)
{
	unsigned long took, from;
	pthread_t t;

	inner_is_done = 0;
	pthread_mutex_lock(&own_lock);
	from = now_ns();
	pthread_create(&t, NULL, inner, (void *)(ms / 2));
	while (!__atomic_load_n(&inner_is_done, __ATOMIC_ACQUIRE))
		tick(now_ns() + 100000);
	spend(ms);
	took = now_ns() - from;
	pthread_mutex_unlock(&own_lock);
	pthread_join(t, NULL);
	return took;
}

static void *waiter(void *arg)
{
	*(int *)arg = gettid();
	pthread_setname_np(pthread_self(), "waiter");
	__atomic_store_n(&inner_is_done, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&big_lock);
	pthread_mutex_unlock(&big_lock);
	return NULL;
}

static unsigned long waited(long ms, int *tid)
{
	unsigned long took, from;
	pthread_t t;

	inner_is_done = 0;
	pthread_mutex_lock(&big_lock);
	from = now_ns();
	pthread_create(&t, NULL, waiter, tid);
	while (!__atomic_load_n(&inner_is_done, __ATOMIC_ACQUIRE))
		;
	spend(ms);
	took = now_ns() - from;
	pthread_mutex_unlock(&big_lock);
	pthread_join(t, NULL);
	return took;
}

__attribute__((noinline)) char *make_lock(void)
{
	char *block = malloc(3000);

	pthread_mutex_init((pthread_mutex_t *)(block + 1600), NULL);
	return block;
}

static unsigned long made(long ms)
{
	char *block = make_lock();
	unsigned long took;

	pthread_mutex_lock((pthread_mutex_t *)(block + 1600));
	took = spend(ms);
	pthread_mutex_unlock((pthread_mutex_t *)(block + 1600));
	free(block);
	return took;
}

static void set_up(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust_lock, &a);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&pi_lock, &a);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&again_lock, &a);
	pthread_spin_init(&spin_lock, 0);
	mtx_init(&c11_lock, mtx_plain);
}

/* Says of each what it was and how long, in us. */
static void sorts(long ms)
{
#define SORT(name, take, give)                                                                     \
	do {                                                                                       \
		unsigned long took_;                                                               \
		take;                                                                              \
		took_ = spend(ms++);                                                               \
		give;                                                                              \
		printf(" %s=%lu", name, took_ / 1000);                                             \
		fflush(stdout);                                                                    \
	} while (0)
	SORT("robust_lock", pthread_mutex_lock(&robust_lock), pthread_mutex_unlock(&robust_lock));
	SORT("pi_lock", pthread_mutex_trylock(&pi_lock), pthread_mutex_unlock(&pi_lock));
	SORT("rw_lock", pthread_rwlock_rdlock(&rw_lock), pthread_rwlock_unlock(&rw_lock));
	SORT("rw_lock", pthread_rwlock_wrlock(&rw_lock), pthread_rwlock_unlock(&rw_lock));
	SORT("spin_lock", pthread_spin_lock(&spin_lock), pthread_spin_unlock(&spin_lock));
	SORT("c11_lock", mtx_lock(&c11_lock), mtx_unlock(&c11_lock));
}

static unsigned long nested(long ms)
{
	unsigned long took, from;

	pthread_mutex_lock(&again_lock);
	from = now_ns();
	pthread_mutex_lock(&again_lock);
	pthread_mutex_lock(&small_locks[0]);
	pthread_mutex_lock(&again_lock);
	pthread_mutex_unlock(&again_lock);
	pthread_mutex_unlock(&again_lock);
	pthread_mutex_unlock(&again_lock);
	spend(ms);
	took = now_ns() - from;
	pthread_mutex_unlock(&small_locks[0]);
	return took;
}

int main(void)
{
	char line[256], word[64];
	unsigned long took;
	long n;
	int tid;

	set_up();
	while (fgets(line, sizeof(line), stdin)) {
		n = took = 0;
		tid = gettid();
		if (sscanf(line, "%63s %ld", word, &n) < 1)
			continue;
		if (!strcmp(word, "hold"))
			took = hold(n);
		else if (!strcmp(word, "overlap"))
			took = keep_around(n);
		else if (!strcmp(word, "wait"))
			took = waited(n, &tid);
		else if (!strcmp(word, "made"))
			took = made(n);
		else if (!strcmp(word, "nested"))
			took = nested(n);
		else if (!strcmp(word, "before"))
			pthread_mutex_lock(&big_lock);
		else if (!strcmp(word, "after"))
			pthread_mutex_unlock(&big_lock);
		else if (!strcmp(word, "fork")) {
			int child = fork(), status = 0;

			if (child) {
				waitpid(child, &status, 0);
				return status != 0;
			}
			tid = gettid();
		}
		printf("done %lu %d", took / 1000, tid);
		if (!strcmp(word, "sorts"))
			sorts(n);
		for (; !strcmp(word, "loop") && n; n--)
			for (int i = 0; i < 1000; i++) {
				pthread_mutex_lock(&small_locks[0]);
				pthread_mutex_unlock(&small_locks[0]);
			}
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
