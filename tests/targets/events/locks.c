/* SPDX-License-Identifier: MIT */
/*
 * A program that counts what it does with locks. One command a line, answered by how often it was
 * about to take one, took one, found one taken, gave one back, and began and ended to wait
 * (semaphores included):
 *
 *	go		every function, nothing is contended
 *	contend		a thread of its own waits once for a lock of each sort
 *	kinds		what recursive, error checking, robust and timed locks return
 *	cancel		a thread is cancelled while it waits for a condition, which takes the
 *			mutex again
 *	storm N		N thousand times one mutex in 4 threads, which must count right, under
 *			signals whose handler has a lock of its own
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static unsigned long acquire, acquired, contended, release, begin, end;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static mtx_t mtx;
static sem_t sem;
static pthread_barrier_t barrier;
static pthread_once_t once;
static once_flag c11_once;

#define EXPECT(call, value)                                                                        \
	do {                                                                                       \
		int got = (call);                                                                  \
		if (got != (value)) {                                                              \
			fprintf(stderr, "%s: %d\n", #call, got);                                   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static void takes(int n)
{
	acquire += (unsigned long)n;
	acquired += (unsigned long)n;
}

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static void go(void)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 10000), soon = in_ms(CLOCK_REALTIME, 1);

	EXPECT(pthread_mutex_lock(&mutex), 0);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	EXPECT(pthread_mutex_timedlock(&mutex, &later), 0);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	EXPECT(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &later), 0);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	EXPECT(pthread_rwlock_rdlock(&rwlock), 0);
	EXPECT(pthread_rwlock_timedrdlock(&rwlock, &later), 0);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	EXPECT(pthread_rwlock_wrlock(&rwlock), 0);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	EXPECT(pthread_rwlock_timedwrlock(&rwlock, &later), 0);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	EXPECT(pthread_spin_lock(&spin), 0);
	EXPECT(pthread_spin_unlock(&spin), 0);
	EXPECT(mtx_lock(&mtx), thrd_success);
	EXPECT(mtx_unlock(&mtx), thrd_success);
	takes(9);
	release += 9;
	EXPECT(sem_post(&sem), 0);
	errno = 1234;
	EXPECT(sem_wait(&sem), 0);
	EXPECT(errno, 1234);

	/* a try is an event only if it took the lock */
	EXPECT(pthread_mutex_trylock(&mutex), 0);
	EXPECT(pthread_mutex_trylock(&mutex), EBUSY);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	EXPECT(pthread_rwlock_tryrdlock(&rwlock), 0);
	EXPECT(pthread_rwlock_trywrlock(&rwlock), EBUSY);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	EXPECT(pthread_spin_trylock(&spin), 0);
	EXPECT(pthread_spin_unlock(&spin), 0);
	EXPECT(mtx_trylock(&mtx), thrd_success);
	EXPECT(mtx_unlock(&mtx), thrd_success);
	acquire += 4;
	release += 4;

	EXPECT(pthread_mutex_lock(&mutex), 0);
	EXPECT(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	takes(2);
	release += 2;
}

static int stage;
static pid_t waiter;

static void at_last(void)
{
}

static void set_stage(int n)
{
	__atomic_store_n(&stage, n, __ATOMIC_SEQ_CST);
}

static void *waits(void *arg)
{
	int sort;

	__atomic_store_n(&waiter, gettid(), __ATOMIC_SEQ_CST);
	for (sort = 1; sort <= 10; sort++) {
		while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 10 * sort)
			usleep(100);
		set_stage(10 * sort + 1);
		if (sort == 1)
			EXPECT(pthread_mutex_lock(&mutex) || pthread_mutex_unlock(&mutex), 0);
		else if (sort == 2)
			EXPECT(pthread_rwlock_rdlock(&rwlock) || pthread_rwlock_unlock(&rwlock), 0);
		else if (sort == 3)
			EXPECT(pthread_rwlock_wrlock(&rwlock) || pthread_rwlock_unlock(&rwlock), 0);
		else if (sort == 4)
			EXPECT(mtx_lock(&mtx) || mtx_unlock(&mtx), 0);
		else if (sort == 5)
			EXPECT(sem_wait(&sem), 0);
		else if (sort == 8)
			EXPECT(pthread_barrier_wait(&barrier) > 0, 0);
		else if (sort == 9)
			EXPECT(pthread_once(&once, at_last), 0);
		else if (sort == 10)
			call_once(&c11_once, at_last);
		else if (sort == 6)
			EXPECT(pthread_spin_lock(&spin) || pthread_spin_unlock(&spin), 0);
		else
			EXPECT(pthread_mutex_lock(&mutex) || pthread_cond_wait(&cond, &mutex) ||
				       pthread_mutex_unlock(&mutex),
			       0);
		set_stage(10 * sort + 2);
	}
	return arg;
}

/* The other thread is about to take it, and then sleeps; one that spins does not. */
static void let_wait(int sort, int sleeps)
{
	char path[64], text[256], *state;
	FILE *f;

	set_stage(10 * sort);
	while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 10 * sort + 1)
		usleep(100);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", waiter);
	do {
		usleep(sleeps ? 1000 : 20000);
		f = fopen(path, "r");
		state = f && fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		if (f)
			fclose(f);
	} while (sleeps && (!state || state[2] != 'S'));
}

static void wait_until(int sort)
{
	while (__atomic_load_n(&stage, __ATOMIC_SEQ_CST) != 10 * sort + 2)
		usleep(100);
}

static void slowly(void)
{
	let_wait(9, 1);
}

static void slowly_too(void)
{
	let_wait(10, 1);
}

/* No thread waits for these. */
static void once_alone(void)
{
	pthread_once_t mine = PTHREAD_ONCE_INIT;
	once_flag flag = ONCE_FLAG_INIT;

	for (int i = 0; i < 2; i++) {
		EXPECT(pthread_once(&mine, at_last), 0);
		call_once(&flag, at_last);
	}
}

static void contend(void)
{
	pthread_t t;

	set_stage(0);
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	c11_once = (once_flag)ONCE_FLAG_INIT;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&t, NULL, waits, NULL);
	EXPECT(pthread_mutex_lock(&mutex), 0);
	let_wait(1, 1);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	wait_until(1);
	EXPECT(pthread_rwlock_wrlock(&rwlock), 0);
	let_wait(2, 1);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	wait_until(2);
	EXPECT(pthread_rwlock_rdlock(&rwlock), 0);
	let_wait(3, 1);
	EXPECT(pthread_rwlock_unlock(&rwlock), 0);
	wait_until(3);
	EXPECT(mtx_lock(&mtx), thrd_success);
	let_wait(4, 1);
	EXPECT(mtx_unlock(&mtx), thrd_success);
	wait_until(4);
	let_wait(5, 1);
	EXPECT(sem_post(&sem), 0);
	wait_until(5);
	EXPECT(pthread_spin_lock(&spin), 0);
	let_wait(6, 0);
	EXPECT(pthread_spin_unlock(&spin), 0);
	wait_until(6);
	takes(10);
	release += 10;
	contended += 5;
	begin += 6;
	end += 6;
	let_wait(7, 1);
	EXPECT(pthread_mutex_lock(&mutex), 0);
	EXPECT(pthread_cond_signal(&cond), 0);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	wait_until(7);
	takes(3);
	release += 3;
	let_wait(8, 1);
	EXPECT(pthread_barrier_wait(&barrier) > 0, 0);
	wait_until(8);
	EXPECT(pthread_once(&once, slowly), 0);
	wait_until(9);
	call_once(&c11_once, slowly_too);
	wait_until(10);
	once_alone();
	begin += 4;
	end += 4;
	pthread_join(t, NULL);
}

static void *dies(void *m)
{
	EXPECT(pthread_mutex_lock(m), 0);
	return NULL;
}

static void kinds(void)
{
	struct timespec past = {1, 0};
	pthread_mutexattr_t attr;
	pthread_mutex_t m;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m, &attr);
	EXPECT(pthread_mutex_lock(&m), 0);
	EXPECT(pthread_mutex_lock(&m), 0);
	EXPECT(pthread_mutex_unlock(&m), 0);
	EXPECT(pthread_mutex_unlock(&m), 0);
	takes(2);
	release += 2;

	/* not taken: given up again */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &attr);
	EXPECT(pthread_mutex_lock(&m), 0);
	EXPECT(pthread_mutex_lock(&m), EDEADLK);
	EXPECT(pthread_mutex_unlock(&m), 0);
	EXPECT(pthread_mutex_unlock(&m), EPERM);
	takes(1);
	acquire++;
	contended++;
	begin++;
	end++;
	release += 3;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&m, &attr);
	pthread_create(&t, NULL, dies, &m);
	pthread_join(t, NULL);
	EXPECT(pthread_mutex_lock(&m), EOWNERDEAD);
	EXPECT(pthread_mutex_unlock(&m), 0);
	EXPECT(pthread_mutex_lock(&m), ENOTRECOVERABLE);
	takes(2);
	acquire++;
	release += 2;

	pthread_mutex_init(&m, NULL);
	EXPECT(pthread_mutex_lock(&m), 0);
	EXPECT(pthread_mutex_timedlock(&m, &past), ETIMEDOUT);
	EXPECT(pthread_mutex_unlock(&m), 0);
	errno = 0;
	EXPECT(sem_timedwait(&sem, &past), -1);
	EXPECT(errno, ETIMEDOUT);
	takes(1);
	acquire++;
	release += 2;
	contended++;
	begin += 2;
	end += 2;
}

static void give_back(void *m)
{
	EXPECT(pthread_mutex_unlock(m), 0);
}

static void *waits_for_ever(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(give_back, &mutex);
	__atomic_store_n(&waiter, gettid(), __ATOMIC_SEQ_CST);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return arg;
}

/* Taken and given back, to wait; cancelled, it has it again and gives it back. */
static void cancel(void)
{
	pthread_t t;
	void *end;

	waiter = 0;
	pthread_create(&t, NULL, waits_for_ever, NULL);
	while (!__atomic_load_n(&waiter, __ATOMIC_SEQ_CST))
		usleep(100);
	EXPECT(pthread_cancel(t), 0);
	EXPECT(pthread_join(t, &end), 0);
	EXPECT(end == PTHREAD_CANCELED, 1);
	EXPECT(pthread_mutex_trylock(&mutex), 0);
	EXPECT(pthread_mutex_unlock(&mutex), 0);
	takes(1);
	acquire++;
	release += 3;
}

static unsigned long count, in_handler;
static volatile int quiet;
static __thread pthread_mutex_t handlers = PTHREAD_MUTEX_INITIALIZER;

static void handler(int sig)
{
	(void)sig;
	if (!pthread_mutex_trylock(&handlers)) {
		pthread_mutex_unlock(&handlers);
		__atomic_fetch_add(&in_handler, 1, __ATOMIC_SEQ_CST);
	}
}

static void *send_signals(void *arg)
{
	while (!quiet) {
		kill(getpid(), SIGUSR1);
		usleep(100);
	}
	return arg;
}

static void *storm(void *arg)
{
	long n = (long)arg;

	while (n--) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	static char line[100], in[100], out[1000];
	pthread_t t[4], sender;
	int i;

	signal(SIGUSR1, handler);
	setvbuf(stdin, in, _IOLBF, sizeof(in));
	setvbuf(stdout, out, _IOLBF, sizeof(out));
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	mtx_init(&mtx, mtx_plain);
	sem_init(&sem, 0, 0);
	while (fgets(line, sizeof(line), stdin)) {
		acquire = acquired = contended = release = begin = end = 0;
		if (!strncmp(line, "go", 2)) {
			go();
		} else if (!strncmp(line, "contend", 7)) {
			contend();
		} else if (!strncmp(line, "kinds", 5)) {
			kinds();
		} else if (!strncmp(line, "cancel", 6)) {
			cancel();
		} else if (!strncmp(line, "storm", 5)) {
			long n = atol(line + 5) * 1000;

			count = in_handler = 0;
			quiet = 0;
			pthread_create(&sender, NULL, send_signals, NULL);
			for (i = 0; i < 4; i++)
				pthread_create(&t[i], NULL, storm, (void *)n);
			for (i = 0; i < 4; i++)
				pthread_join(t[i], NULL);
			quiet = 1;
			pthread_join(sender, NULL);
			EXPECT(count == 4 * (unsigned long)n, 1);
			takes((int)count);
			acquire += in_handler;
			release += count + in_handler;
		}
		printf("done %lu %lu %lu %lu %lu %lu\n", acquire, acquired, contended, release,
		       begin, end);
	}
	return 0;
}
