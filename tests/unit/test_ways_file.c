/* SPDX-License-Identifier: MIT */
/* object/digest.c by the values that its author gives, and object/ways_file.c on small files. */
#include "cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object/digest.h"
#include "object/ways_file.h"

static void *get(size_t bytes)
{
	return calloc(1, bytes);
}

static void put(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

static void xxh64(void **state)
{
	static const char text[] = "Nobody inspects the spammish repetition";

	(void)state;
	assert_true(digest(0, "", 0) == UINT64_C(0xef46db3751d8e999));
	assert_true(digest(0, "a", 1) == UINT64_C(0xd24ec4f1a98c6e5b));
	assert_true(digest(0, "abc", 3) == UINT64_C(0x44bc2cf5ad770999));
	assert_true(digest(0, text, strlen(text)) == UINT64_C(0xfbcea83c8a378bf1));
}

/* What is kept of an analysis; 0: the file has none. */
static uint8_t *analysed(const uint8_t *file, size_t bytes, size_t *n)
{
	struct entries e;
	uint8_t *ways;

	*n = 0;
	if (entries_open(&e, file, bytes, get, put))
		return NULL;
	assert_int_equal(entries_find_ways(&e), 0);
	*n = ways_file_pack(&e, NULL);
	ways = *n ? calloc(1, *n) : NULL;
	if (ways)
		assert_int_equal(ways_file_pack(&e, ways), *n);
	entries_close(&e);
	return ways;
}

/* A byte that changes what is found changes the digest, too: else a kept file would be wrong. */
static void each_input_is_in_the_digest(void **state)
{
	static const char *const names[] = {"good-so", "good-exec"};
	size_t bytes, n, k, at;
	uint32_t i, covered = 0;

	(void)state;
	for (i = 0; i < 2; i++) {
		char path[512];
		uint8_t *file, *ways, *others;
		struct entries e;
		FILE *f;

		snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/entries/%s",
			 getenv("SOURCE_DIR"), names[i]);
		f = fopen(path, "rb");
		assert_non_null(f);
		file = malloc(1 << 20);
		bytes = fread(file, 1, 1 << 20, f);
		fclose(f);
		ways = analysed(file, bytes, &n);
		assert_non_null(ways);
		for (at = 0; at < bytes; at++) {
			int err;

			file[at] ^= 0x41;
			err = ways_file_unpack(&e, file, bytes, ways, n, get, put);
			if (!err) {
				entries_close(&e);
				others = analysed(file, bytes, &k);
				assert_int_equal(k, n);
				assert_memory_equal(ways, others, n);
				free(others);
			}
			covered += err != 0;
			file[at] ^= 0x41;
		}
		assert_int_equal(ways_file_unpack(&e, file, bytes, ways, n, get, put), 0);
		entries_close(&e);
		free(ways);
		free(file);
	}
	assert_true(covered > 500);
}

static bool trusted(mode_t mode, uid_t owner, off_t bytes, uid_t user)
{
	const struct stat st = {.st_mode = mode, .st_uid = owner, .st_size = bytes};

	return ways_file_is_trusted(&st, user);
}

static void a_file_of_others_is_not_trusted(void **state)
{
	assert_true(trusted(S_IFREG | 0644, 1000, 64, 1000));
	assert_true(trusted(S_IFREG | 0644, 0, 64, 1000));
	assert_false(trusted(S_IFREG | 0644, 1001, 64, 1000));
	assert_false(trusted(S_IFREG | 0644, 1000, 64, 0));
	assert_false(trusted(S_IFREG | 0664, 1000, 64, 1000));
	assert_false(trusted(S_IFREG | 0646, 1000, 64, 1000));
	assert_false(trusted(S_IFIFO | 0600, 1000, 64, 1000));
	assert_false(trusted(S_IFREG | 0600, 1000, 0, 1000));
	assert_true(trusted(S_IFREG | 0600, 1000, WAYS_FILE_MAX_BYTES, 1000));
	assert_false(trusted(S_IFREG | 0600, 1000, WAYS_FILE_MAX_BYTES + INT64_C(1), 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xxh64),
		cmocka_unit_test(each_input_is_in_the_digest),
		cmocka_unit_test(a_file_of_others_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
