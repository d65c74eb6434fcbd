/* SPDX-License-Identifier: MIT */
/* Records sorted outside memory, tools/export/sorter.c, beside qsort(). */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/export/sorter.h"

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
	assert_int_equal(s.fd >= 0, spills);
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorts),
					   cmocka_unit_test(test_no_file)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
