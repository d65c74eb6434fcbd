/* SPDX-License-Identifier: MIT */
/*
 * The grace period (engine/ring/srcu.c): what it waits for, what it does not wait for, and for how
 * long.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h> /* for cmocka */
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include <cmocka.h>

#include "engine/ring/srcu.h"

#define D SRCU_OPS

static int step;
static int late_domain, late_tid;

static void wait_for(int what)
{
	while (__atomic_load_n(&step, __ATOMIC_ACQUIRE) < what)
		usleep(100);
}

static void go_to(int what)
{
	__atomic_store_n(&step, what, __ATOMIC_RELEASE);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void on_late(enum srcu_domain d, int tid)
{
	late_domain = (int)d;
	late_tid = tid;
}

static pthread_t start(void *(*run)(void *))
{
	pthread_t thread;

	go_to(0);
	assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
	return thread;
}

static void join(pthread_t thread)
{
	void *ret;

	pthread_join(thread, &ret);
	assert_null(ret);
}

/* Opens a section, and closes it at step 2. */
static void *reader(void *arg)
{
	struct srcu_thread *t = srcu_read_lock(D);

	go_to(1);
	wait_for(2);
	srcu_read_unlock(D, t);
	srcu_thread_end(0, 0);
	return arg;
}

static int waited; /* what synchronize_srcu() returned, 1: it has not yet */

static void *writer(void *arg)
{
	__atomic_store_n(&waited, synchronize_srcu(D), __ATOMIC_RELEASE);
	srcu_thread_end(0, 0);
	return arg;
}

static void it_waits_for_those_inside(void **state)
{
	pthread_t r, w;

	(void)state;
	r = start(reader);
	wait_for(1);
	waited = 1;
	assert_int_equal(pthread_create(&w, NULL, writer, NULL), 0);
	usleep(50000);
	assert_int_equal(__atomic_load_n(&waited, __ATOMIC_ACQUIRE), 1);
	/* other domains are not concerned */
	assert_int_equal(synchronize_srcu(SRCU_RING), 0);
	go_to(2);
	join(w);
	assert_int_equal(waited, 0);
	join(r);
}

static void it_does_not_wait_for_ever(void **state)
{
	uint64_t begin = now_ms();
	pthread_t r = start(reader);

	(void)state;
	wait_for(1);
	late_domain = -1;
	assert_int_equal(synchronize_srcu(D), -ETIMEDOUT);
	assert_true(now_ms() - begin >= 1000);
	assert_int_equal(late_domain, D);
	assert_true(late_tid > 0 && late_tid != (int)syscall(SYS_gettid));
	go_to(2);
	join(r);
	assert_int_equal(synchronize_srcu(D), 0);
}

static void whoever_is_inside_does_not_wait_for_itself(void **state)
{
	struct srcu_thread *t = srcu_read_lock(D);

	(void)state;
	assert_int_equal(srcu_nest(D), 1);
	assert_int_equal(synchronize_srcu(D), -EDEADLK);
	srcu_read_unlock(D, t);
	assert_int_equal(srcu_nest(D), 0);
	assert_int_equal(synchronize_srcu(D), 0);
}

/* Opens one section after the other: it is hardly ever seen outside. */
static void *busy_reader(void *arg)
{
	int i, begun = 0;

	while (__atomic_load_n(&step, __ATOMIC_RELAXED) < 2) {
		struct srcu_thread *t = srcu_read_lock(D);

		/* once: a second time might undo the step that ends this */
		if (!begun++)
			go_to(1);
		for (i = 0; i < 10000; i++)
			__asm__ volatile("");
		srcu_read_unlock(D, t);
	}
	srcu_thread_end(0, 0);
	return arg;
}

static void it_is_not_held_up_by_those_that_come_again(void **state)
{
	pthread_t r = start(busy_reader);
	int i;

	(void)state;
	while (!__atomic_load_n(&step, __ATOMIC_ACQUIRE))
		sched_yield();
	for (i = 0; i < 100; i++)
		assert_int_equal(synchronize_srcu(D), 0);
	go_to(2);
	join(r);
}

/* What is unlinked is poisoned after the grace period: no reader sees that. */
static int *shown;
static int wrong;
static int nr_readers_done;

static void read_once(void)
{
	struct srcu_thread *t = srcu_read_lock(D);
	const int *p = load_acquire(&shown);
	int i;

	for (i = 0; i < 50; i++)
		if (load_relaxed(p) != 42)
			__atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
	srcu_read_unlock(D, t);
}

static void on_signal(int sig)
{
	(void)sig;
	read_once();
}

static void *storm_reader(void *arg)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec often = {{0, 50000}, {0, 50000}};
	timer_t timer;

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) || timer_settime(timer, 0, &often, NULL))
		return &step;
	while (__atomic_load_n(&step, __ATOMIC_RELAXED) < 1)
		read_once();
	timer_delete(timer);
	srcu_thread_end(0, 0);
	__atomic_fetch_add(&nr_readers_done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* @nr threads: those without a record of their own share one. Then waits may be in vain. */
static void storm(int nr)
{
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t threads[32];
	uint64_t begin = now_ms();
	int i, given_up = 0;

	sigaction(SIGALRM, &act, NULL);
	go_to(0);
	wrong = nr_readers_done = 0;
	shown = malloc(sizeof(*shown));
	*shown = 42;
	for (i = 0; i < nr; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, storm_reader, NULL), 0);
	for (i = 0; i < 3 || (i < 300 && now_ms() - begin < 1500 && given_up < 2); i++) {
		int *old = shown, *new = malloc(sizeof(*new));

		*new = 42;
		store_release(&shown, new);
		if (synchronize_srcu(D)) {
			given_up++; /* it stays */
			continue;
		}
		*old = 0;
		free(old);
	}
	go_to(1);
	for (i = 0; i < nr; i++)
		join(threads[i]);
	assert_int_equal(wrong, 0);
	assert_int_equal(nr_readers_done, nr);
	assert_int_equal(synchronize_srcu(D), 0);
	free(shown);
}

static void nothing_is_freed_too_early(void **state)
{
	(void)state;
	storm(4);
}

static void nor_of_threads_that_share_a_record(void **state)
{
	(void)state;
	storm(SRCU_MAX_THREADS + 8);
}

/* @nr sections in frames below each other, which are left as by longjmp() to @sp. */
static __attribute__((noinline)) void open_and_jump(int nr, uint64_t sp)
{
	char room[512];

	__asm__ volatile("" : : "r"(room) : "memory");
	srcu_read_lock(D);
	if (nr > 1)
		open_and_jump(nr - 1, sp);
	else
		srcu_jump(sp - 65536, sp);
	__asm__ volatile("" : : "r"(room) : "memory");
}

static __attribute__((noinline)) void open_and_jump_to_here(void)
{
	open_and_jump(1, (uint64_t)__builtin_frame_address(0));
	__asm__ volatile(""); /* no tail call: the frame stays */
}

static void sections_that_are_jumped_out_of_are_closed(void **state)
{
	struct srcu_thread *t;
	int nr;

	(void)state;
	/* more than those whose frames are known */
	for (nr = 1; nr <= 6; nr++) {
		open_and_jump(nr, (uint64_t)__builtin_frame_address(0));
		assert_int_equal(srcu_nest(D), 0);
		assert_int_equal(synchronize_srcu(D), 0);
	}
	/* of two the inner one: a callback jumps to where it was before */
	t = srcu_read_lock(D);
	open_and_jump_to_here();
	assert_int_equal(srcu_nest(D), 1);
	assert_int_equal(synchronize_srcu(D), -EDEADLK);
	srcu_read_unlock(D, t);
	assert_int_equal(srcu_nest(D), 0);
	assert_int_equal(synchronize_srcu(D), 0);
	/* an end that comes late */
	srcu_read_unlock(D, t);
	assert_int_equal(srcu_nest(D), 0);
}

/* The child goes on inside, and is one of one thread. */
static void *child_writer(void *arg)
{
	*(int *)arg = synchronize_srcu(D);
	return NULL;
}

static void a_fork_inside_goes_on_inside(void **state)
{
	pthread_t other = start(reader), thread;
	struct srcu_thread *t;
	int status, ret = 1;
	pid_t pid;

	(void)state;
	wait_for(1);
	t = srcu_read_lock(D);
	pid = fork();
	if (!pid) {
		srcu_fork();
		if (srcu_nest(D) != 1 || synchronize_srcu(D) != -EDEADLK)
			_exit(1);
		/* ours alone is waited for: the parent's reader is not here */
		if (pthread_create(&thread, NULL, child_writer, &ret))
			_exit(2);
		usleep(20000);
		if (__atomic_load_n(&ret, __ATOMIC_ACQUIRE) != 1)
			_exit(3);
		srcu_read_unlock(D, t);
		pthread_join(thread, NULL);
		if (ret || srcu_nest(D) || synchronize_srcu(D))
			_exit(4);
		/* what is closed twice is not counted below zero */
		srcu_read_unlock(D, t);
		_exit(synchronize_srcu(D) ? 5 : 0);
	}
	srcu_read_unlock(D, t);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	go_to(2);
	join(other);
	assert_int_equal(synchronize_srcu(D), 0);
}

/* A coroutine that opens a section in one thread and closes it in another. */
static ucontext_t home, routine;
static char routine_stack[65536];

static void routine_main(void)
{
	struct srcu_thread *t = srcu_read_lock(D);

	swapcontext(&routine, &home);
	srcu_read_unlock(D, t);
	swapcontext(&routine, &home);
}

static void *first_half(void *arg)
{
	int ends = arg != NULL;

	getcontext(&routine);
	routine.uc_stack.ss_sp = routine_stack;
	routine.uc_stack.ss_size = sizeof(routine_stack);
	makecontext(&routine, routine_main, 0);
	swapcontext(&home, &routine);
	if (ends)
		srcu_thread_end((uint64_t)__builtin_frame_address(0) - 65536,
				(uint64_t)__builtin_frame_address(0) + 65536);
	go_to(1);
	wait_for(2);
	if (!ends)
		srcu_thread_end(0, 0);
	return NULL;
}

static void move_routine(int ends)
{
	struct srcu_thread *mine;
	pthread_t thread;

	go_to(0);
	assert_int_equal(pthread_create(&thread, NULL, first_half, ends ? &step : NULL), 0);
	wait_for(1);
	if (ends) {
		go_to(2);
		join(thread);
	}
	/* it is in the section, whatever became of the thread */
	assert_int_equal(synchronize_srcu(D), -ETIMEDOUT);
	mine = srcu_read_lock(D);
	swapcontext(&home, &routine);
	assert_int_equal(srcu_nest(D), 1);
	srcu_read_unlock(D, mine);
	assert_int_equal(synchronize_srcu(D), 0);
	if (!ends) {
		go_to(2);
		join(thread);
	}
	assert_int_equal(synchronize_srcu(D), 0);
}

static void a_section_may_end_in_another_thread(void **state)
{
	(void)state;
	move_routine(0);
	move_routine(1);
}

/* The thread ends inside, by pthread_exit() or without a word. */
static void *exit_inside(void *arg)
{
	srcu_read_lock(D);
	if (arg)
		syscall(SYS_exit, 0);
	srcu_thread_end((uint64_t)__builtin_frame_address(0) - 65536,
			(uint64_t)__builtin_frame_address(0) + 65536);
	go_to(1);
	return NULL;
}

static void threads_that_end_inside_are_not_waited_for(void **state)
{
	pthread_t thread;
	uint64_t begin;
	int i;

	(void)state;
	/* more than there are records */
	for (i = 0; i < (int)SRCU_MAX_THREADS * 2; i++) {
		thread = start(exit_inside);
		join(thread);
		assert_int_equal(synchronize_srcu(D), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, exit_inside, &step), 0);
	usleep(50000);
	begin = now_ms();
	assert_int_equal(synchronize_srcu(D), 0);
	assert_true(now_ms() - begin < 900);
	assert_int_equal(synchronize_srcu(D), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_those_inside),
		cmocka_unit_test(it_does_not_wait_for_ever),
		cmocka_unit_test(whoever_is_inside_does_not_wait_for_itself),
		cmocka_unit_test(it_is_not_held_up_by_those_that_come_again),
		cmocka_unit_test(nothing_is_freed_too_early),
		cmocka_unit_test(nor_of_threads_that_share_a_record),
		cmocka_unit_test(sections_that_are_jumped_out_of_are_closed),
		cmocka_unit_test(a_fork_inside_goes_on_inside),
		cmocka_unit_test(a_section_may_end_in_another_thread),
		cmocka_unit_test(threads_that_end_inside_are_not_waited_for),
	};

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0)) {
		puts("no membarrier() here");
		return 77;
	}
	srcu_on_timeout(on_late);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
