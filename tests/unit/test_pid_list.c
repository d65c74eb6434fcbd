/* SPDX-License-Identifier: MIT */
/* Sets of thread ids: bounds, order, and changes by several threads at once. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/ring/pid_list.h"

static void empty(void **state)
{
	struct pid_list l = {0};

	(void)state;
	assert_false(pid_list_has(&l, 0));
	assert_int_equal(pid_list_next(&l, 0), PID_LIST_MAX);
	pid_list_unset(&l, 5);
	pid_list_clear(&l);
	pid_list_free(&l);
}

static void in_order(void **state)
{
	static const uint32_t pids[] = {0, 1, 63, 64, 32767, 32768, 4194303, PID_LIST_MAX - 1};
	struct pid_list l = {0};
	uint32_t at = 0;

	(void)state;
	for (size_t i = 8; i-- > 0;)
		assert_int_equal(pid_list_set(&l, pids[i]), 0);
	for (size_t i = 0; i < 8; i++) {
		assert_true(pid_list_has(&l, pids[i]));
		at = pid_list_next(&l, at);
		assert_int_equal(at++, pids[i]);
	}
	assert_int_equal(pid_list_next(&l, at), PID_LIST_MAX);
	assert_false(pid_list_has(&l, 2));
	pid_list_unset(&l, 64);
	assert_false(pid_list_has(&l, 64));
	assert_int_equal(pid_list_next(&l, 64), 32767);
	assert_int_equal(pid_list_set(&l, PID_LIST_MAX), -EINVAL);
	assert_false(pid_list_has(&l, PID_LIST_MAX));
	pid_list_clear(&l);
	assert_int_equal(pid_list_next(&l, 0), PID_LIST_MAX);
	pid_list_free(&l);
	assert_false(pid_list_has(&l, 0));
}

#define NR_THREADS 4u
#define NR_EACH	   20000u

struct share {
	struct pid_list *l;
	uint32_t first;
};

static void *fill(void *arg)
{
	const struct share *s = arg;

	for (uint32_t i = 0; i < NR_EACH; i++) {
		pid_list_set(s->l, s->first + i * NR_THREADS);
		if (i % 2)
			pid_list_unset(s->l, s->first + i * NR_THREADS);
	}
	return NULL;
}

static void by_several_threads(void **state)
{
	struct pid_list l = {0};
	struct share shares[NR_THREADS];
	pthread_t t[NR_THREADS];
	uint32_t n = 0, at;

	(void)state;
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		shares[i] = (struct share){&l, i};
		assert_int_equal(pthread_create(&t[i], NULL, fill, &shares[i]), 0);
	}
	for (uint32_t i = 0; i < NR_THREADS; i++)
		pthread_join(t[i], NULL);
	for (at = 0; (at = pid_list_next(&l, at)) < PID_LIST_MAX; at++) {
		assert_int_equal(at / NR_THREADS % 2, 0);
		n++;
	}
	assert_int_equal(n, NR_THREADS * NR_EACH / 2);
	pid_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty),
		cmocka_unit_test(in_order),
		cmocka_unit_test(by_several_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
