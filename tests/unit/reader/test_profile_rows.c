/* SPDX-License-Identifier: MIT */
/* Times in buckets, against each time itself; rows of an area with false contents. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/profile_rows.h"

/* A bucket's middle is within 3 % of each time that is counted in it. */
static void test_error(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < UINT64_C(1) << 43; ns += 1 + ns / 1009) {
		unsigned int octave, bucket = profile_bucket(ns, &octave);
		double middle = profile_bucket_ns(octave, bucket);

		assert_true(octave < AREA_TIMES_OCTAVES && bucket < AREA_TIMES_BUCKETS);
		assert_true(middle >= (double)ns * 0.984 && middle <= (double)ns * 1.016);
	}
	for (uint64_t ns = UINT64_C(1) << 43; ns; ns <<= 1) {
		unsigned int octave, bucket = profile_bucket(ns, &octave);

		assert_true(octave < AREA_TIMES_OCTAVES && bucket < AREA_TIMES_BUCKETS);
	}
}

static int read_of(struct fake *f, struct profile_rows *p)
{
	int fd = open(fake_write(f, f->size), O_RDONLY | O_CLOEXEC), err;

	assert_true(fd >= 0);
	err = profile_rows_read(fd, "area", p);
	close(fd);
	return err;
}

static void test_read(void **state)
{
	struct fake *f = fake_new(1, 1, 1);
	struct profile_rows p;

	(void)state;
	AREA_TABLE(f->head, AREA_PROFILE)->count = AREA_TABLE(f->head, AREA_TIMES)->count = 0;
	assert_int_equal(read_of(f, &p), 0);
	assert_int_equal(p.nr, 0);
	profile_rows_free(&p);
	f->head->profile_on = 1;
	f->head->profile_missed = 7;
	AREA_TABLE(f->head, AREA_PROFILE)->count = 2;
	AREA_TABLE(f->head, AREA_TIMES)->count = 1;
	*(struct area_profile *)fake_row(f, AREA_PROFILE, 1) =
		(struct area_profile){.kind = AREA_PROFILE_ROW, .hits = 3, .times = {1, 9}};
	assert_int_equal(read_of(f, &p), 0);
	assert_true(p.on && p.missed == 7 && p.nr == 2 && p.nr_times == 1);
	assert_true(!p.rows[0].kind && p.rows[1].hits == 3);
	profile_rows_free(&p);
	fake_free(f);
}

static void test_lies(void **state)
{
	struct fake *f = fake_new(1, 1, 1);
	struct area_table *t = AREA_TABLE(f->head, AREA_PROFILE), good;
	struct profile_rows p;

	(void)state;
	t->count = 1;
	good = *t;
	t->offset = UINT64_MAX - 64;
	assert_int_equal(read_of(f, &p), -EINVAL);
	*t = good;
	t->count = t->capacity = UINT32_MAX;
	assert_int_equal(read_of(f, &p), -EINVAL);
	*t = good;
	t->entry_bytes = 8;
	assert_int_equal(read_of(f, &p), -EINVAL);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
