/* SPDX-License-Identifier: MIT */
/* A recording's buffers as one reader, tools/reader/joined.c. */
#include "cm.h"

#include <string.h>

#include "synth.h"
#include "tools/reader/joined.h"

static const char mark[] = READER_CLOCK_MARK "12345";

#define MARK(at, nr_lost)                                                                          \
	{                                                                                          \
		.ts = at, .kind = RECORD_PRINT, .lost = nr_lost, .data = mark,                     \
		.data_bytes = sizeof(mark)                                                         \
	}
#define EVENT(at, nr_lost)                                                                         \
	{                                                                                          \
		.ts = at, .kind = RECORD_EVENT, .lost = nr_lost                                    \
	}

static const struct record kernel[] = {
	EVENT(10, 0), MARK(20, 3),  EVENT(30, 0), EVENT(40, 1),
	MARK(50, 2),  MARK(60, 5),  EVENT(70, 4), MARK(80, RECORD_LOST_UNKNOWN),
	EVENT(90, 1), MARK(100, 6),
};

/* Without the marks: times, and records lost before each. */
static const uint64_t times[] = {10, 30, 40, 70, 90}, lost[] = {0, 3, 1, 11, RECORD_LOST_UNKNOWN};

/* @room: records that one call of read() may return. */
static void check(struct reader *r, unsigned int room)
{
	struct record rec[16];
	unsigned int i = 0;
	int n;

	while ((n = reader_read(r, 1, rec, room)) > 0) {
		for (int k = 0; k < n; k++, i++) {
			assert_in_range(i, 0, 4);
			assert_int_equal(rec[k].ts, times[i]);
			assert_true(rec[k].lost == lost[i]);
			assert_int_equal(record_buffer(&rec[k]), 1);
		}
	}
	assert_int_equal(n, 0);
	assert_int_equal(i, 5);
	assert_int_equal(reader_lost_at_end(r), 6);
}

static void losses_before_a_clock_mark_are_kept(void **state)
{
	const struct record *const none[] = {NULL}, *const list[] = {kernel};
	const uint64_t nr_none[] = {0}, nr[] = {sizeof(kernel) / sizeof(*kernel)};
	struct reader *in = synth_new_list(1, none, nr_none), *k = synth_new_list(1, list, nr), *r;
	struct reader *further[] = {k};

	(void)state;
	in->further = further;
	in->nr_further = 1;
	assert_int_equal(reader_join(in, &r), 0);
	for (unsigned int room = 1; room <= 16; room++) {
		struct record rec;

		check(r, room);
		/* nothing is counted twice at the end */
		assert_int_equal(reader_read(r, 1, &rec, 1), 0);
		assert_int_equal(reader_lost_at_end(r), 6);
		assert_int_equal(r->ops->rewind(r), 0);
	}
	reader_close(r);
	reader_close(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_before_a_clock_mark_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
