/* SPDX-License-Identifier: MIT */
/* Arrays that go to a file when they are many, tools/base/spill_array.c. */
#include "cm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/base/spill_array.h"

#define NR	 20
#define ONE	 ((size_t)16 << 20) /* NR of them are more than may be in memory */
#define WORDS(n) ((n) / sizeof(uint64_t))

/* A number of /proc/self/status, in bytes. */
static size_t status(const char *name)
{
	FILE *f = fopen("/proc/self/status", "r");
	size_t n = strlen(name), kib = 0;
	char line[256];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			kib = strtoul(line + n + 1, NULL, 10);
	fclose(f);
	return kib << 10;
}

static uint64_t word(unsigned int array, size_t i)
{
	return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ array;
}

/* Set the words of an array from number @from on. */
static void set(uint64_t *a, unsigned int array, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		a[i] = word(array, i);
}

static void check(const uint64_t *a, unsigned int array, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (a[i] != word(array, i))
			fail_msg("array %u, word %zu", array, i);
}

/* Grow all arrays side by side, from nothing to ONE bytes, and free them. */
static void grow_all(uint64_t **all, void (*look)(void))
{
	memset(all, 0, NR * sizeof(*all));
	for (size_t bytes = 4096; bytes <= ONE; bytes *= 4)
		for (unsigned int i = 0; i < NR; i++) {
			all[i] = spill_array_grow(all[i], bytes);
			assert_non_null(all[i]);
			assert_int_equal((uintptr_t)all[i] % 16, 0);
			set(all[i], i, bytes == 4096 ? 0 : WORDS(bytes / 4), WORDS(bytes));
			if (bytes == ONE)
				spill_arrays_trim();
		}
	for (unsigned int i = 0; i < NR; i++) {
		check(all[i], i, WORDS(ONE));
		spill_arrays_trim();
	}
	if (look)
		look();
	for (unsigned int i = 0; i < NR; i++)
		spill_array_free(all[i]);
	spill_array_free(NULL);
}

static void look_small(void)
{
	assert_in_range(status("RssAnon"), SPILL_ARRAYS_MEMORY / 2,
			SPILL_ARRAYS_MEMORY + ((size_t)16 << 20));
	/* the file's pages are not in this process's memory */
	assert_in_range(status("RssFile") + status("RssShmem"), 0, (size_t)64 << 20);
}

/* More than memory may have keeps its contents, and what it takes has a limit. */
static void test_in_file(void **state)
{
	uint64_t *all[NR];

	grow_all(all, look_small);
	/* what was freed is counted as free */
	grow_all(all, look_small);
}

static void look_large(void)
{
	assert_true(status("RssAnon") > NR * ONE - ((size_t)16 << 20));
}

/* Where no file can be made, all of it is in memory. In the end: there is no second try. */
static void test_no_file(void **state)
{
	struct rlimit was, small = {1 << 20, 1 << 20};
	uint64_t *all[NR];

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	small.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	grow_all(all, look_large);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	grow_all(all, look_large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_file),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
