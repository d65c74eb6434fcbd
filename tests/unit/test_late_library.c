/* SPDX-License-Identifier: MIT */
/* Libraries that are loaded when they are first used, tools/base/late_library.c. */
#include "cm.h"

#include <errno.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/late_library.h"

static double (*power)(double base, double exponent);
static double (*root)(double number);

static void test_functions_are_found(void **state)
{
	const struct late_function functions[] = {{"pow", &power}, {"cbrt", &root}};

	assert_int_equal(late_library("libm.so.6", functions, 2, "the test"), 0);
	assert_int_equal((int)power(2, 10), 1024);
	assert_int_equal((int)root(27), 3);
}

static void test_missing_library(void **state)
{
	const struct late_function functions[] = {{"pow", &power}};

	power = NULL;
	assert_int_equal(late_library("libnone-of-this.so.9", functions, 1, "the web view"),
			 -ENOENT);
	assert_non_null(strstr(fail_text(), "the web view: the library libnone-of-this.so.9"));
	assert_null(power);
}

/* None is set where one is missing. */
static void test_missing_function(void **state)
{
	const struct late_function functions[] = {{"pow", &power}, {"no_such_function", &root}};

	power = NULL;
	root = NULL;
	assert_int_equal(late_library("libm.so.6", functions, 2, NULL), -ENOENT);
	assert_string_equal(fail_text(), "the library libm.so.6 has no no_such_function()");
	assert_null(power);
	assert_null(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_found),
		cmocka_unit_test(test_missing_library),
		cmocka_unit_test(test_missing_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
