/* SPDX-License-Identifier: MIT */
/* Records sorted outside memory, tools/base/sorter.c, beside qsort(); and the bytes of spill.c. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/sorter.h"

struct rec {
	uint64_t key, other, third; /* a size that is no power of two */
};

static int by_key(const void *a, const void *b)
{
	const struct rec *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static struct rec *made(size_t nr)
{
	struct rec *all = calloc(nr + 1, sizeof(*all));
	uint64_t v = 1;

	assert_non_null(all);
	for (size_t i = 0; i < nr; i++) {
		v = v * 6364136223846793005u + 1442695040888963407u;
		all[i] = (struct rec){v >> 20, i, ~v};
	}
	return all;
}

/* The records from number @from on, until @to. */
static void check(struct sorter *s, const struct rec *want, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		const struct rec *r = i % 3 ? NULL : sorter_peek(s);

		if (r)
			assert_int_equal(r->key, want[i].key);
		r = sorter_next(s);
		assert_non_null(r);
		assert_memory_equal(r, &want[i], sizeof(*r));
	}
}

static void sorts(size_t nr, size_t memory, bool spills)
{
	struct rec *all = made(nr);
	struct sorter s;

	sorter_init(&s, sizeof(*all), by_key, memory, "-");
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(sorter_add(&s, &all[i]), 0);
	assert_int_equal(sorter_end(&s), 0);
	assert_int_equal(s.file.fd >= 0, spills);
	qsort(all, nr, sizeof(*all), by_key);
	/* a mark in the middle, to which the reading goes back, also from the end */
	check(&s, all, 0, nr / 3);
	sorter_mark(&s);
	check(&s, all, nr / 3, nr / 2);
	assert_int_equal(sorter_back(&s), 0);
	check(&s, all, nr / 3, nr);
	assert_null(sorter_next(&s));
	assert_null(sorter_peek(&s));
	assert_int_equal(sorter_back(&s), 0);
	check(&s, all, nr / 3, nr);
	assert_null(sorter_next(&s));
	assert_int_equal(s.err, 0);
	sorter_clear(&s);
	free(all);
}

static void test_sorts(void **state)
{
	sorts(0, 4096, false);
	sorts(1, 4096, false);
	sorts(170, 4096, false); /* 4096 / 24 */
	sorts(171, 4096, true);
	sorts(340, 4096, true);
	sorts(100000, 4096, true);    /* 589 runs */
	sorts(100000, 1 << 20, true); /* 3 runs, each larger than a read */
}

static void test_no_file(void **state)
{
	struct sorter s;
	struct rec r = {0};
	int err = 0;

	sorter_init(&s, sizeof(r), by_key, sizeof(r), "/nonexistent/out");
	for (int i = 0; i < 3 && !err; i++)
		err = sorter_add(&s, &r);
	assert_int_equal(err, -ENOENT);
	assert_non_null(strstr(fail_text(), "/nonexistent/"));
	sorter_clear(&s);
}

/* Bytes of any length, added below and above what memory may hold, come back by their offsets. */
static void spills(size_t memory, bool to_file)
{
	static const size_t lengths[] = {1, 70000, 0, 100, 4096, 65536, 3};
	char *data = malloc(70000), *back = malloc(70000);
	uint64_t at[70];
	struct spill s;

	spill_init(&s, memory, "-");
	for (unsigned int i = 0; i < 70; i++) {
		at[i] = spill_end(&s);
		memset(data, (int)i + 1, lengths[i % 7]);
		assert_int_equal(spill_add(&s, data, lengths[i % 7]), 0);
	}
	assert_int_equal(s.fd >= 0, to_file);
	assert_true(s.room <= memory);
	for (unsigned int i = 70; i-- > 0;) {
		memset(data, (int)i + 1, lengths[i % 7]);
		assert_int_equal(spill_get(&s, at[i], back, lengths[i % 7]), 0);
		assert_memory_equal(back, data, lengths[i % 7]);
	}
	/* two that follow one another, the first of which may be in the file alone */
	assert_int_equal(spill_get(&s, at[68], back, 65539), 0);
	assert_int_equal(back[65535], 69);
	assert_int_equal(back[65536], 70);
	assert_int_equal(spill_get(&s, spill_end(&s) - 2, back, 3), -EIO);
	assert_int_equal(spill_get(&s, spill_end(&s) + 1, back, 1), -EIO);
	spill_clear(&s);
	free(data);
	free(back);
}

static void test_spills(void **state)
{
	spills(2 << 20, false);
	spills(0, true);
	spills(100000, true);
	spills(66000, true);
	spills(5000, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorts),
					   cmocka_unit_test(test_no_file),
					   cmocka_unit_test(test_spills)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
