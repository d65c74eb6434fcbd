/* SPDX-License-Identifier: MIT */
/* CPUs as text, tools/base/cpu_list.c. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* A group of the kernel's mask has at most eight digits (EOVERFLOW). */
static void test_masks(void **state)
{
	char to[CPU_MASK_BYTES];

	assert_string_equal(cpu_mask_all(to, 1), "1");
	assert_string_equal(cpu_mask_all(to, 2), "3");
	assert_string_equal(cpu_mask_all(to, 8), "ff");
	assert_string_equal(cpu_mask_all(to, 32), "ffffffff");
	assert_string_equal(cpu_mask_all(to, 33), "1,ffffffff");
	assert_string_equal(cpu_mask_all(to, 64), "ffffffff,ffffffff");
	assert_string_equal(cpu_mask_all(to, 71), "7f,ffffffff,ffffffff");
	assert_int_equal(strlen(cpu_mask_all(to, CPU_MASK_MAX)), CPU_MASK_BYTES - 2);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists),
					   cmocka_unit_test(test_masks)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
