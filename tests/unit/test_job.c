/* SPDX-License-Identifier: MIT */
/* A second thread that does jobs, tools/base/job.c. */
#include "cm.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/job.h"
#include "tools/base/two_cpus.h"

#define NR 3
/* cmocka has a macro fail() */

static atomic_bool hold, started;

struct task {
	struct job job;
	pthread_t by;
	int result;
};

static int act(void *arg)
{
	struct task *t = arg;

	t->by = pthread_self();
	if (t->result < 0)
		return (fail)(-t->result, "the job of result %d", t->result);
	return t->result;
}

static int act_held(void *arg)
{
	atomic_store(&started, true);
	while (atomic_load(&hold))
		sched_yield();
	return act(arg);
}

/* Results and errors come to the owner from either thread, again and again. */
static void test_results(void **state)
{
	struct job_thread *t = job_thread_new();
	struct task tasks[NR] = {{.result = 7}, {.result = -EIO}, {.result = 0}};

	assert_non_null(t);
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < NR; i++) {
			tasks[i].job.run = act;
			tasks[i].job.arg = &tasks[i];
			job_begin(t, &tasks[i].job);
			assert_true(job_is_begun(&tasks[i].job));
		}
		/* the last one first: it may not have started */
		for (int i = NR; i-- > 0;) {
			(fail)(ENOENT, "another error");
			assert_int_equal(job_finish(t, &tasks[i].job), tasks[i].result);
			assert_false(job_is_begun(&tasks[i].job));
			assert_string_equal(fail_text(),
					    i == 1 ? "the job of result -5" : "another error");
		}
	}
	job_thread_free(t);
	job_thread_free(NULL);
}

/* The owner does a job that waits behind another one, and waits for one that runs. */
static void test_taken_back(void **state)
{
	struct task first = {.result = 1}, second = {.result = 2}, third = {.result = 3};
	struct job_thread *t;

	if (!has_two_cpus())
		skip();
	t = job_thread_new();
	assert_non_null(t);
	atomic_store(&hold, true);
	first.job = (struct job){.run = act_held, .arg = &first};
	second.job = (struct job){.run = act, .arg = &second};
	third.job = (struct job){.run = act, .arg = &third};
	job_begin(t, &first.job);
	job_begin(t, &second.job);
	while (!atomic_load(&started))
		sched_yield();
	assert_int_equal(job_finish(t, &second.job), 2);
	assert_true(pthread_equal(second.by, pthread_self()));
	job_begin(t, &third.job);
	atomic_store(&hold, false);
	assert_int_equal(job_finish(t, &first.job), 1);
	assert_false(pthread_equal(first.by, pthread_self()));
	assert_int_equal(job_finish(t, &third.job), 3);
	/* a dropped one is not done if it has not begun, and leaves no error */
	atomic_store(&hold, true);
	atomic_store(&started, false);
	third = (struct task){.result = -EIO, .job = {.run = act, .arg = &third}};
	job_begin(t, &first.job);
	job_begin(t, &third.job);
	while (!atomic_load(&started))
		sched_yield();
	(fail)(ENOENT, "another error");
	job_drop(t, &third.job);
	assert_false(job_is_begun(&third.job));
	assert_int_equal(third.by, 0);
	atomic_store(&hold, false);
	job_drop(t, &first.job);
	assert_string_equal(fail_text(), "another error");
	job_thread_free(t);
}

/* On one CPU there is no second thread. */
static void test_one_cpu(void **state)
{
	cpu_set_t was, one;
	struct job_thread *t;
	struct task task = {.result = 4};

	assert_int_equal(sched_getaffinity(0, sizeof(was), &was), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &was))
			CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	t = job_thread_new();
	assert_non_null(t);
	task.job = (struct job){.run = act, .arg = &task};
	job_begin(t, &task.job);
	assert_int_equal(job_finish(t, &task.job), 4);
	assert_true(pthread_equal(task.by, pthread_self()));
	job_thread_free(t);
	assert_int_equal(sched_setaffinity(0, sizeof(was), &was), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_one_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
