/* SPDX-License-Identifier: MIT */
/* The argument of --cpu, tools/base/cpu_list.c. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/cpu_list.h"

/* The CPUs that @list names of six, as bits; or -errno. */
static int bits(const char *list)
{
	bool *cpus;
	int ret = cpu_list_parse(list, 6, &cpus), i, set = 0;

	if (ret)
		return ret;
	for (i = 0; i < 6; i++)
		set |= cpus[i] << i;
	free(cpus);
	return set;
}

static void test_lists(void **state)
{
	assert_int_equal(bits("0"), 1);
	assert_int_equal(bits("0,2-3"), 13);
	assert_int_equal(bits("5,0-5"), 63);
	assert_int_equal(bits("1-1,1"), 2);
	assert_int_equal(bits("6"), -ERANGE);
	assert_int_equal(bits("3-6"), -ERANGE);
	assert_int_equal(bits(""), -EINVAL);
	assert_int_equal(bits("1,"), -EINVAL);
	assert_int_equal(bits(",1"), -EINVAL);
	assert_int_equal(bits("3-1"), -EINVAL);
	assert_int_equal(bits("-1"), -EINVAL);
	assert_int_equal(bits("1-"), -EINVAL);
	assert_int_equal(bits("1-2-3"), -EINVAL);
	assert_int_equal(bits("all"), -EINVAL);
	assert_int_equal(bits("1 2"), -EINVAL);
	assert_int_equal(bits("99999999999999999999"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
