/* SPDX-License-Identifier: MIT */
/* The lock of control paths (engine/process/lock.c). */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/arch/sys.h"
#include "engine/process/lock.h"

static struct lock lock;
static int step;
static uint64_t inside, total;

static void wait_for(int what)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < what)
		usleep(100);
}

static void go_to(int what)
{
	__atomic_store_n(&step, what, __ATOMIC_RELEASE);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *many_times(void *arg)
{
	int i;

	for (i = 0; i < 20000; i++) {
		if (lock_take(&lock))
			return arg;
		/* plain: only the lock keeps them apart */
		if (inside++)
			return arg;
		total++;
		inside--;
		lock_release(&lock);
	}
	return NULL;
}

static void one_at_a_time(void **state)
{
	pthread_t threads[4];
	void *ret;
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_times, &lock), 0);
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		assert_null(ret);
	}
	assert_int_equal(total, 80000);
	assert_int_equal(lock.word, 0);
}

static void its_owner_is_told(void **state)
{
	(void)state;
	assert_int_equal(lock_take(&lock), 0);
	assert_int_equal(lock_take(&lock), -EDEADLK);
	assert_int_equal(lock_take_within(&lock, 0), -EDEADLK);
	lock_release(&lock);
	assert_int_equal(lock.word, 0);
}

static void *hold(void *arg)
{
	if (lock_take(&lock))
		return arg;
	go_to(1);
	wait_for(2);
	lock_release(&lock);
	return NULL;
}

static void *wait_a_while(void *arg)
{
	uint64_t before = cpu_ns();

	if (lock_take(&lock))
		return arg;
	lock_release(&lock);
	/* a waiter that spins or yields takes all of the 300 ms of a CPU that it can get */
	return cpu_ns() - before > 50000000 ? arg : NULL;
}

/* A thread that waits gets the lock when its holder, who waits for 2, has released it. */
static void let_one_wait(void *(*waits)(void *))
{
	pthread_t waiter;
	void *ret;

	assert_int_equal(pthread_create(&waiter, NULL, waits, &lock), 0);
	usleep(300000);
	go_to(2);
	pthread_join(waiter, &ret);
	assert_null(ret);
}

static void who_waits_sleeps(void **state)
{
	pthread_t holder;
	void *ret;

	(void)state;
	go_to(0);
	assert_int_equal(pthread_create(&holder, NULL, hold, &lock), 0);
	wait_for(1);
	assert_int_equal(lock_take_within(&lock, 0), -ETIMEDOUT);
	assert_int_equal(lock_take_within(&lock, 10000000), -ETIMEDOUT);
	let_one_wait(wait_a_while);
	pthread_join(holder, &ret);
	assert_null(ret);
	assert_int_equal(lock.word, 0);
}

/* It may make no system call when it releases the lock. */
static void *hold_and_be_forbidden(void *arg)
{
	sys_rights = SYS_FREE;
	if (lock_take(&lock))
		return arg;
	sys_rights = SYS_FORBIDDEN;
	go_to(1);
	wait_for(2);
	lock_release(&lock);
	/* its end would give the lock to who waits */
	wait_for(3);
	return NULL;
}

static void *wait_free(void *arg)
{
	sys_rights = SYS_FREE;
	return wait_a_while(arg);
}

static void an_owner_without_system_calls_lets_go(void **state)
{
	pthread_t holder;
	void *ret;

	(void)state;
	go_to(0);
	sys_rights = SYS_FREE;
	__atomic_store_n(&sys_nr_forbidden, 1, __ATOMIC_RELEASE);
	alarm(60);
	assert_int_equal(pthread_create(&holder, NULL, hold_and_be_forbidden, &lock), 0);
	wait_for(1);
	assert_int_equal(lock_take_within(&lock, 50000000), -ETIMEDOUT);
	let_one_wait(wait_free);
	go_to(3);
	pthread_join(holder, &ret);
	assert_null(ret);
	alarm(0);
	__atomic_store_n(&sys_nr_forbidden, 0, __ATOMIC_RELEASE);
	sys_rights = SYS_UNKNOWN;
	assert_int_equal(lock.word, 0);
}

static void on_timer(int sig)
{
	(void)sig;
}

/* A real-time thread waits for one that gets no time beside it, but for what it is lent. */
static void *real_time(void *arg)
{
	struct sched_param p = {.sched_priority = 10};

	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &p))
		return arg;
	go_to(2);
	return wait_a_while(&lock);
}

static void *busy_owner(void *arg)
{
	struct timespec ms = {.tv_nsec = 1000000};
	uint64_t begin;

	if (lock_take(&lock))
		return arg;
	go_to(1);
	wait_for(2);
	nanosleep(&ms, NULL);
	for (begin = cpu_ns(); cpu_ns() - begin < 100000000;)
		;
	lock_release(&lock);
	return NULL;
}

static void a_real_time_thread_does_not_starve_the_owner(void **state)
{
	pthread_t owner, waiter;
	cpu_set_t one, before;
	void *ret;

	(void)state;
	sched_getaffinity(0, sizeof(before), &before);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	/* both on one CPU */
	sched_setaffinity(0, sizeof(one), &one);
	go_to(0);
	alarm(60);
	assert_int_equal(pthread_create(&owner, NULL, busy_owner, &lock), 0);
	wait_for(1);
	assert_int_equal(pthread_create(&waiter, NULL, real_time, &step), 0);
	pthread_join(waiter, &ret);
	go_to(2);
	pthread_join(owner, NULL);
	alarm(0);
	sched_setaffinity(0, sizeof(before), &before);
	if (ret == &step)
		skip();
	assert_null(ret);
}

static void *end_with_it(void *arg)
{
	(void)arg;
	sys_rights = SYS_FREE;
	lock_take(&lock);
	return NULL;
}

static void an_owner_that_ends_leaves_it(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, end_with_it, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_not_equal(lock.word, 0);
	assert_int_equal(lock_take_within(&lock, 5000000000), 0);
	lock_release(&lock);
	assert_int_equal(lock.word, 0);
}

static pthread_barrier_t meeting;

static void *take_once(void *arg)
{
	pthread_barrier_wait(&meeting);
	if (lock_take(&lock) || __atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED))
		return arg;
	sched_yield();
	__atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
	lock_release(&lock);
	return NULL;
}

static void it_leaves_it_to_one(void **state)
{
	pthread_t threads[4];
	int i, round;
	void *ret;

	(void)state;
	pthread_barrier_init(&meeting, NULL, 4);
	for (round = 0; round < 3000; round++) {
		assert_int_equal(pthread_create(&threads[0], NULL, end_with_it, NULL), 0);
		pthread_join(threads[0], NULL);
		for (i = 0; i < 4; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, take_once, &lock), 0);
		for (i = 0; i < 4; i++) {
			pthread_join(threads[i], &ret);
			assert_null(ret);
		}
	}
	pthread_barrier_destroy(&meeting);
	assert_int_equal(lock.word, 0);
}

/* The same where no waiter uses the kernel's lock. */
static void it_leaves_it_to_who_sleeps(void **state)
{
	sys_rights = SYS_FREE;
	sys_nr_forbidden = 1;
	an_owner_that_ends_leaves_it(state);
	sys_nr_forbidden = 0;
	sys_rights = SYS_UNKNOWN;
}

static void signals_do_not_disturb(void **state)
{
	struct sigaction act = {.sa_handler = on_timer};
	struct itimerval often = {{0, 200}, {0, 200}}, none = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	total = 0;
	one_at_a_time(state);
	setitimer(ITIMER_REAL, &none, NULL);
	signal(SIGALRM, SIG_DFL);
}

/* The child has what its parent had, and is another thread. */
static void a_forks_child_begins_anew(void **state)
{
	int owned, status;
	pid_t pid;

	(void)state;
	for (owned = 0; owned < 2; owned++) {
		assert_int_equal(lock_take(&lock), 0);
		pid = fork();
		if (!pid) {
			lock_fork(&lock, owned);
			if (lock_take(&lock) != (owned ? -EDEADLK : 0))
				_exit(1);
			lock_release(&lock);
			_exit(lock.word ? 2 : 0);
		}
		lock_release(&lock);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_at_a_time),
		cmocka_unit_test(its_owner_is_told),
		cmocka_unit_test(who_waits_sleeps),
		cmocka_unit_test(an_owner_without_system_calls_lets_go),
		cmocka_unit_test(a_real_time_thread_does_not_starve_the_owner),
		cmocka_unit_test(an_owner_that_ends_leaves_it),
		cmocka_unit_test(it_leaves_it_to_one),
		cmocka_unit_test(it_leaves_it_to_who_sleeps),
		cmocka_unit_test(signals_do_not_disturb),
		cmocka_unit_test(a_forks_child_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
