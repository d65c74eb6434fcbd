/* SPDX-License-Identifier: MIT */
/* Rows found by their keys, tools/base/hash_index.c. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/hash_index.h"

#define NR 5000u

static int64_t find(const struct hash_index *index, const uint64_t *keys, uint64_t key)
{
	return HASH_INDEX_FIND(index, key, i, keys[i] == key);
}

/* Every row is found while others come, and a key that is not there is not. */
static void test_finds(void **state)
{
	struct hash_index index = {0};
	uint64_t *keys = calloc(NR, sizeof(*keys));

	assert_non_null(keys);
	assert_int_equal(find(&index, keys, 0), -1);
	for (uint32_t nr = 0; nr < NR; nr++) {
		/* neighbours, multiples of a page, numbers that differ in the upper half alone */
		keys[nr] = nr % 3 == 0	 ? nr
			   : nr % 3 == 1 ? nr * UINT64_C(4096)
					 : (uint64_t)nr << 32;
		assert_int_equal(find(&index, keys, keys[nr]), -1);
		assert_int_equal(hash_index_add(&index, keys[nr], nr), 0);
		assert_int_equal(find(&index, keys, keys[nr]), nr);
		assert_int_equal(find(&index, keys, keys[nr / 2]), nr / 2);
		assert_true(2 * index.nr <= index.nr_slots);
	}
	for (uint32_t nr = 0; nr < NR; nr++)
		assert_int_equal(find(&index, keys, keys[nr]), nr);
	assert_int_equal(find(&index, keys, UINT64_MAX), -1);
	hash_index_clear(&index);
	assert_int_equal(find(&index, keys, keys[1]), -1);
	free(keys);
}

/* Several rows have the same hash: the comparison finds the right one. */
static void test_one_hash(void **state)
{
	static const char *const names[] = {"read", "write", "open", "close"};
	struct hash_index index = {0};

	for (uint32_t nr = 0; nr < 4; nr++)
		assert_int_equal(hash_index_add(&index, 7, nr), 0);
	for (uint32_t nr = 0; nr < 4; nr++)
		assert_int_equal(HASH_INDEX_FIND(&index, 7, i, names[i] == names[nr]), nr);
	assert_int_equal(HASH_INDEX_FIND(&index, 7, i, i > 3), -1);
	assert_int_equal(HASH_INDEX_FIND(&index, 8, i, 1), -1);
	hash_index_clear(&index);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_finds),
					   cmocka_unit_test(test_one_hash)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
