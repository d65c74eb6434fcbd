/* SPDX-License-Identifier: MIT */
/* The text that sets a control file to what it shows, tools/base/settable.c. */
#include "cm.h"

#include <stdio.h>

#include "tools/base/settable.h"

static const char *of(const char *text)
{
	static char buf[256];

	snprintf(buf, sizeof(buf), "%s", text);
	return settable(buf);
}

static void test_contents(void **state)
{
	assert_string_equal(of("1408\n"), "1408");
	assert_string_equal(of("nop"), "nop");
	assert_string_equal(of("\n"), "");
	assert_string_equal(of(""), "");
	/* as kernels show it before the first use of a buffer */
	assert_string_equal(of("7 (expanded: 1408)\n"), "1408");
	assert_string_equal(of("7 (expanded: 1408"), "1408");
	assert_string_equal(of("local global [mono] boot\n"), "mono");
	assert_string_equal(of("[local] global counter\n"), "local");
	assert_string_equal(of("[local"), "[local");
	assert_string_equal(of("]["), "][");
	assert_string_equal(of("one\n[two]\n"), "one");
	assert_string_equal(of("two words\n"), "two words");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_contents)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
