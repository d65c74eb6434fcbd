/* SPDX-License-Identifier: MIT */
/* Names of threads, tools/reader/tasks.c. */
#include "cm.h"

#include <stdio.h>

#include "tools/reader/tasks.h"

static void test_names(void **state)
{
	struct tasks *t = tasks_new();

	assert_string_equal(tasks_comm(t, 7), "<...>");
	assert_string_equal(tasks_comm(t, 0), "<idle>");
	tasks_set(t, 20, 20, "main");
	tasks_set(t, 7, 20, "a name of too many bytes");
	tasks_set(t, 30, 0, "two\nlines\t\x7f");
	tasks_set(t, 31, 0, "");
	assert_string_equal(tasks_comm(t, 20), "main");
	assert_string_equal(tasks_comm(t, 7), "a name of too m");
	assert_string_equal(tasks_comm(t, 30), "two?lines??");
	assert_string_equal(tasks_comm(t, 31), "<...>");
	assert_string_equal(tasks_comm(t, 21), "<...>");
	/* the last name wins, what is unknown does not */
	tasks_set(t, 20, 0, "renamed");
	assert_string_equal(tasks_comm(t, 20), "renamed");
	assert_int_equal(tasks_at(t, 1)->tgid, 20);
	assert_int_equal(tasks_count(t), 4);
	assert_int_equal(tasks_at(t, 0)->pid, 7);
	assert_null(tasks_at(t, 4));
	tasks_free(t);
}

static void test_many(void **state)
{
	struct tasks *t = tasks_new();
	char comm[16];
	int i;

	for (i = 0; i < 5000; i++) {
		int pid = 1 + i * 2311 % 5000;

		snprintf(comm, sizeof(comm), "t%d", pid);
		tasks_set(t, pid, 1, comm);
	}
	assert_int_equal(tasks_count(t), 5000);
	for (i = 1; i <= 5000; i++) {
		snprintf(comm, sizeof(comm), "t%d", i);
		assert_string_equal(tasks_comm(t, i), comm);
		assert_int_equal(tasks_at(t, (size_t)i - 1)->pid, i);
	}
	tasks_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
