/* SPDX-License-Identifier: MIT */
/* error_log: the kernel's shape (6.12's capture of a filter error), eight entries, oldest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/control/error_log.h"
#include "engine/control/tree.h"

static uint64_t now_ns;

uint64_t ring_clock_mono(void);
uint64_t ring_clock_mono(void)
{
	return now_ns;
}

static const char *text(void)
{
	static char buf[8192];
	struct seq_buf s;

	seq_init(&s, buf, sizeof(buf) - 1);
	assert_int_equal(error_log_show(NULL, &s), 0);
	buf[s.len] = 0;
	return buf;
}

static void test_an_entry(void **state)
{
	(void)state;
	assert_string_equal(text(), "");
	now_ns = 948535703499;
	error_log_add("event filter parse error", "Field not found", "nofield == 1", 12, 8);
	assert_string_equal(text(),
			    "[  948.535703] event filter parse error: error: Field not found\n"
			    "  Command: nofield == 1\n"
			    "                   ^\n");
	assert_int_equal(error_log_store(NULL, "x", 1, 0), 0);
	assert_true(strlen(text()) > 0);
	assert_int_equal(error_log_store(NULL, "", 0, 1), 0);
	assert_string_equal(text(), "");
}

static void test_eight_are_kept(void **state)
{
	char command[300], *at;
	int i;

	(void)state;
	memset(command, 'c', sizeof(command));
	now_ns = 5000000;
	for (i = 0; i < 11; i++) {
		command[0] = (char)('a' + i);
		error_log_add("hist", "Duplicate", command, sizeof(command), 0);
	}
	at = (char *)text();
	for (i = 3; i < 11; i++) {
		at = strstr(at, "[    0.005000] hist: error: Duplicate\n  Command: ");
		assert_non_null(at);
		at += strlen("[    0.005000] hist: error: Duplicate\n  Command: ");
		assert_int_equal(*at, 'a' + i);
		assert_int_equal(strcspn(at, "\n"), ERROR_LOG_COMMAND);
		assert_int_equal(strncmp(strchr(at, '\n'), "\n           ^\n", 14), 0);
	}
	assert_null(strstr(at, "["));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_entry),
		cmocka_unit_test(test_eight_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
