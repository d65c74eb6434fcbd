/* SPDX-License-Identifier: MIT */
/* Rows of threads, engine/ring/task.h: one each, also where memory for one of them fails. */
#include "cm.h"

#include <errno.h>
#include <string.h>

#include "engine/arch/sys.h"
#include "engine/ring/ring.h"

uint32_t sys_nr_forbidden;
__thread enum sys_rights sys_rights __attribute__((tls_model("initial-exec")));

static int back(const void *at, size_t n);
#define sys_back back
#include "engine/ring/task.h"
#undef sys_back

#define NR 200u
static struct area_task rows[NR];
static struct area_table table = {.capacity = NR};
static struct ring ring = {.task_table = &table, .tasks = rows};

/* What comes between a thread's claim and its memory: another thread, or a handler. */
static void (*meanwhile)(void);
static int result;

static int back(const void *at, size_t n)
{
	void (*other)(void) = meanwhile;
	int mine = result;

	assert_true(n && (const char *)at + n <= (const char *)(rows + NR));
	meanwhile = NULL;
	result = 0;
	if (other)
		other();
	return mine;
}

static uint32_t others;

static void claim(void)
{
	others = ring_task_row(&ring);
}

static int begin(void **state)
{
	(void)state;
	table.count = 0;
	ring.tasks_backed = 0;
	result = 0;
	meanwhile = NULL;
	return 0;
}

/*
 * A thread that may not ask for memory gets none; another one has its row meanwhile, and keeps it.
 */
static void test_failure(void **state)
{
	(void)state;
	result = -EPERM;
	meanwhile = claim;
	assert_int_equal(ring_task_row(&ring), UINT32_MAX);
	assert_true(others < NR);
	assert_true(others < table.count); /* readers see it */
	assert_int_not_equal(ring_task_row(&ring), others);
}

static void test_one_each(void **state)
{
	uint32_t mine;

	(void)state;
	meanwhile = claim;
	mine = ring_task_row(&ring);
	assert_int_not_equal(mine, others);
	assert_int_equal(table.count, 2);
}

static void test_full(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(ring_task_row(&ring), i);
	assert_int_equal(ring_task_row(&ring), UINT32_MAX);
	assert_int_equal(table.count, NR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_failure, begin),
		cmocka_unit_test_setup(test_one_each, begin),
		cmocka_unit_test_setup(test_full, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
