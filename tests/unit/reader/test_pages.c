/* SPDX-License-Identifier: MIT */
/* Pages to streams: order, losses, records that make no sense. By way of areas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"

static struct reader *open_fake(struct fake *f)
{
	struct reader *r;

	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	return r;
}

static void a_record_is_read_whole(void **state)
{
	struct fake *f = fake_new(2, 4, 10);
	struct record rec[2];
	struct reader *r;

	fake_take(f, 1, 0, 100, 5000);
	fake_call(f, 1, 0, 7, 3, FAKE_BIAS + 0x1234);
	fake_publish(f, 1, 0);
	r = open_fake(f);
	assert_true(r->ts_is_ns);
	assert_string_equal(r->clock, "local");
	assert_string_equal(r->tracer, "function");
	assert_int_equal(r->nr_cpus, 2);
	assert_int_equal(reader_read(r, 0, rec, 2), 0);
	assert_int_equal(reader_read(r, 1, rec, 2), 1);
	assert_int_equal(rec->ts, 5007);
	assert_int_equal(rec->pid, 100);
	assert_int_equal(rec->cpu, 1);
	assert_int_equal(rec->kind, RECORD_FUNCTION);
	assert_int_equal(rec->lost, 0);
	/* the object's own range: a multiple of 4 GiB, then the offset */
	assert_int_equal(rec->ip & 0xffffffff, 0x1000 + 16 * 3);
	assert_int_equal(rec->parent_ip & 0xffffffff, 0x1234);
	assert_int_equal(rec->ip >> 32, rec->parent_ip >> 32);
	assert_in_range(rec->ip >> 32, 1u << 27, (1u << 28) - 1);
	assert_string_equal(symbols_find(r->symbols, rec->ip)->name, "unnamed+0x1030");
	assert_string_equal(tasks_comm(r->tasks, 100), "fake");
	assert_int_equal(r->stats[1].entries, 1);
	assert_int_equal(r->stats[1].bytes, 16);
	assert_int_equal(reader_read(r, 1, rec, 2), 0);
	reader_close(r);
	fake_free(f);
}

static void put_text(struct fake *f, uint32_t stamp, uint64_t ip, const char *text)
{
	char bytes[64] = {0};
	uint64_t words[8];
	uint32_t nr = (uint32_t)(strlen(text) + 8) / 8;

	memcpy(bytes, text, strlen(text));
	memcpy(words, bytes, sizeof(words));
	fake_word(f, 0, 0, fake_record(RECORD_PRINT, 16 + 8 * nr, stamp));
	fake_word(f, 0, 0, ip);
	for (uint32_t i = 0; i < nr; i++)
		fake_word(f, 0, 0, words[i]);
}

static void texts_are_lent(void **state)
{
	struct fake *f = fake_new(1, 4, 10);
	struct record rec[6];
	struct reader *r;

	fake_take(f, 0, 0, 100, 1000);
	put_text(f, 1, FAKE_BIAS + 0x1005, "one\n");
	fake_call(f, 0, 0, 2, 1, 0);
	put_text(f, 3, 0, "a mark");
	put_text(f, 4, 0, "");
	/* too short for a writer's address: lost */
	fake_word(f, 0, 0, fake_record(RECORD_PRINT, 8, 5));
	put_text(f, 6, 0, "two\nlines");
	/* reaches beyond the page: nothing follows */
	fake_word(f, 0, 0, fake_record(RECORD_PRINT, 64, 7));
	fake_publish(f, 0, 0);
	r = open_fake(f);
	assert_int_equal(reader_read(r, 0, rec, 6), 5);
	assert_int_equal(rec[0].kind, RECORD_PRINT);
	assert_int_equal(rec[0].ip & 0xffffffff, 0x1005);
	assert_int_equal(rec[0].data_bytes, 3);
	assert_memory_equal(rec[0].data, "one", 3);
	assert_int_equal(rec[1].kind, RECORD_FUNCTION);
	assert_string_equal(symbols_find(r->symbols, rec[2].ip)->name, "tracing_mark_write");
	assert_int_equal(rec[2].data_bytes, 6);
	assert_memory_equal(rec[2].data, "a mark", 6);
	assert_int_equal(rec[3].data_bytes, 0);
	assert_int_equal(rec[4].lost, 1);
	assert_int_equal(rec[4].data_bytes, 9);
	assert_memory_equal(rec[4].data, "two\nlines", 9);
	assert_int_equal(reader_read(r, 0, rec, 6), 0);
	reader_close(r);
	fake_free(f);
}

/* Two objects at one place, one after the other, and a larger one that stayed around both. */
static void a_caller_is_in_what_lay_there_then(void **state)
{
	static const struct {
		uint32_t stamp;
		uint64_t addr;
		uint32_t offset;
		unsigned int object; /* 0: the fake's own */
	} calls[] = {
		{1, 0x200010, 0x10, 1},	 {10, 0x200010, 0x10, 1},    {11, 0x200010, 0x10, 2},
		{25, 0x200010, 0x10, 2}, {26, 0x2010, 0x2010, 0},    {30, 0x200010, 0x10, 2},
		{99, 0x200010, 0x10, 2}, {99, 0x280010, 0x80010, 2}, {5, 0x280010, 0, 3},
	};
	struct fake *f = fake_new(1, 4, 10);
	struct area_object *o = fake_row(f, AREA_OBJECTS, 1);
	struct area_object *last = fake_row(f, AREA_OBJECTS, 2);
	uint64_t base[3] = {0}, expect;
	struct record rec;
	struct reader *r;

	f->head->tables[AREA_OBJECTS].count = 3;
	f->head->tables[AREA_OBJECTS].capacity = 3;
	*o = (struct area_object){.bias = FAKE_BIAS + 0x200000,
				  .lo = FAKE_BIAS + 0x200000,
				  .hi = FAKE_BIAS + 0x210000,
				  .build_id_bytes = 4,
				  .build_id = {2},
				  .load_stamp = 1000,
				  .unload_stamp = 1010};
	*last = *o;
	last->build_id[0] = 3;
	last->hi = FAKE_BIAS + 0x290000;
	last->load_stamp = 1020;
	last->unload_stamp = 1030;
	fake_take(f, 0, 0, 100, 1000);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		fake_call(f, 0, 0, calls[i].stamp, 0, FAKE_BIAS + calls[i].addr);
	fake_publish(f, 0, 0);
	r = open_fake(f);
	while (reader_read(r, 0, &rec, 1) == 1) {
		uint32_t stamp = (uint32_t)(rec.ts - 1000);
		unsigned int known = 0;

		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
			if (calls[i].stamp != stamp || calls[i].object > 2 ||
			    calls[i].offset != (uint32_t)rec.parent_ip)
				continue;
			known = 1;
			expect = rec.parent_ip - calls[i].offset;
			if (!base[calls[i].object])
				base[calls[i].object] = expect;
			assert_true(base[calls[i].object] == expect);
		}
		assert_true(known || stamp == 5);
	}
	assert_true(base[0] != base[1] && base[1] != base[2] && base[0] != base[2]);
	assert_true(base[0] && base[1] && base[2]);
	reader_close(r);
	fake_free(f);
}

static void a_caller_outside_keeps_its_address(void **state)
{
	struct fake *f = fake_new(1, 4, 10);
	static const uint64_t outside[] = {FAKE_BIAS - 1, FAKE_BIAS + 0x100000, 0, UINT64_MAX};
	struct record rec;
	struct reader *r;

	fake_take(f, 0, 0, 100, 1);
	for (unsigned int i = 0; i < 4; i++)
		fake_call(f, 0, 0, i, 0, outside[i]);
	fake_publish(f, 0, 0);
	r = open_fake(f);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(reader_read(r, 0, &rec, 1), 1);
		assert_true(rec.parent_ip == outside[i]);
	}
	reader_close(r);
	fake_free(f);
}

/* Threads that take turns on one CPU: against all records, sorted. */
static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void overlapping_pages_are_merged(void **state)
{
	enum { PAGES = 64 };
	static uint64_t all[PAGES * 252];
	struct fake *f = fake_new(1, PAGES, 10);
	struct record rec[5];
	struct reader *r;
	size_t nr = 0, at = 0;
	int n;

	srandom(2);
	for (unsigned int p = 0; p < PAGES; p++) {
		uint64_t base = 1000 + (uint64_t)random() % 20000;
		unsigned int calls = 1 + (unsigned int)random() % 252;
		uint32_t stamp = 0;

		fake_take(f, 0, p, 100 + (int)p, base);
		for (unsigned int i = 0; i < calls; i++) {
			/* now and then a handler's record comes late */
			uint32_t back = random() % 10 ? 0 : (uint32_t)random() % 20;

			stamp += (uint32_t)random() % 100;
			fake_call(f, 0, p, stamp > back ? stamp - back : 0, 1, 0);
			all[nr++] = base + (stamp > back ? stamp - back : 0);
		}
		if (p % 7)
			fake_publish(f, 0, p);
	}
	qsort(all, nr, sizeof(*all), by_value);
	r = open_fake(f);
	while ((n = reader_read(r, 0, rec, 1 + at % 5)) > 0)
		for (int i = 0; i < n; i++)
			assert_true(rec[i].ts == all[at++]);
	assert_int_equal(n, 0);
	assert_int_equal(at, nr);
	assert_int_equal(r->stats[0].entries, nr);
	reader_close(r);
	fake_free(f);
}

static void losses_stand_before_the_page_that_tells_them(void **state)
{
	struct fake *f = fake_new(2, 4, 10);
	static const uint64_t want[] = {5, 0, 10, 7};
	struct record rec;
	struct reader *r;

	for (unsigned int p = 0; p < 4; p++) {
		static const uint64_t dropped[] = {5, 5, 15, 20}, nested[] = {0, 0, 0, 2};
		struct page_head *head = fake_take(f, 0, p, 100, 1000 * (p + 1));

		head->dropped_events = dropped[p];
		head->commit_overrun = nested[p];
		fake_call(f, 0, p, 0, 1, 0);
		fake_call(f, 0, p, 1, 1, 0);
		fake_publish(f, 0, p);
	}
	/* another CPU's counts are its own */
	fake_take(f, 1, 0, 100, 1)->dropped_events = 3;
	fake_call(f, 1, 0, 0, 1, 0);
	fake_publish(f, 1, 0);
	r = open_fake(f);
	for (unsigned int p = 0; p < 4; p++) {
		assert_int_equal(reader_read(r, 0, &rec, 1), 1);
		assert_int_equal(rec.lost, want[p]);
		assert_int_equal(reader_read(r, 0, &rec, 1), 1);
		assert_int_equal(rec.lost, 0);
	}
	assert_int_equal(reader_read(r, 1, &rec, 1), 1);
	assert_int_equal(rec.lost, 3);
	reader_close(r);
	fake_free(f);
}

static void what_was_overwritten_is_older_than_all(void **state)
{
	struct fake *f = fake_new(1, 4, 10);
	struct record rec[4];
	struct reader *r;

	((struct area_buffer *)fake_row(f, AREA_BUFFERS, 0))->flags = AREA_BUFFER_OVERWRITE;
	((struct area_cpu *)fake_row(f, AREA_CPUS, 0))->overrun = 99;
	for (unsigned int p = 0; p < 2; p++) {
		fake_take(f, 0, p, 100, 1000 * (p + 1))->overrun = 50 + p;
		fake_call(f, 0, p, 0, 1, 0);
		fake_publish(f, 0, p);
	}
	r = open_fake(f);
	assert_true(r->overwrite);
	assert_int_equal(reader_read(r, 0, rec, 4), 2);
	assert_int_equal(rec[0].lost, 99);
	assert_int_equal(rec[1].lost, 0);
	assert_int_equal(r->stats[0].overrun, 99);
	reader_close(r);
	fake_free(f);
}

static void words_that_are_no_records(void **state)
{
	struct fake *f = fake_new(1, 8, 10);
	struct record rec[8];
	uint64_t lost;
	struct reader *r;

	/* holes and unfinished records are stepped over */
	fake_take(f, 0, 0, 100, 1000);
	fake_word(f, 0, 0, 0);
	fake_call(f, 0, 0, 1, 1, 0);
	fake_word(f, 0, 0, fake_record(RECORD_UNCOMMITTED, 24, 2));
	fake_word(f, 0, 0, 0xdead);
	fake_word(f, 0, 0, 0xbeef);
	fake_word(f, 0, 0, fake_record(RECORD_EXIT, 1, 3));
	fake_publish(f, 0, 0);
	/* a function that does not exist is lost */
	fake_take(f, 0, 1, 100, 2000);
	fake_call(f, 0, 1, 0, 10, 0);
	fake_call(f, 0, 1, 1, RECORD_ID_MAX, 0);
	fake_call(f, 0, 1, 2, 9, 0);
	fake_publish(f, 0, 1);
	/* a word that no writer makes ends its page; so does a record that does not fit */
	fake_take(f, 0, 2, 100, 3000);
	fake_call(f, 0, 2, 0, 1, 0);
	fake_word(f, 0, 2, fake_record(RECORD_VOID, 1, 1));
	fake_call(f, 0, 2, 2, 1, 0);
	fake_publish(f, 0, 2);
	fake_take(f, 0, 3, 100, 4000);
	fake_call(f, 0, 3, 0, 1, 0);
	fake_word(f, 0, 3, fake_record(RECORD_FUNCTION, 1, 1));
	fake_publish(f, 0, 3);
	fake_take(f, 0, 4, 100, 5000);
	fake_call(f, 0, 4, 0, 1, 0);
	fake_word(f, 0, 4, fake_record(RECORD_UNCOMMITTED, 0xffffff8, 1));
	fake_publish(f, 0, 4);
	/* another buffer's page, and an empty one, are none of ours */
	fake_take(f, 0, 5, 100, 6000)->buffer = 1;
	fake_call(f, 0, 5, 0, 1, 0);
	fake_publish(f, 0, 5);
	fake_take(f, 0, 6, 100, 7000);
	fake_publish(f, 0, 6);
	r = open_fake(f);
	assert_int_equal(reader_read(r, 0, rec, 8), 6);
	assert_int_equal(rec[0].ts, 1001);
	assert_int_equal(rec[1].kind, RECORD_EXIT);
	assert_int_equal(rec[2].ts, 2002);
	assert_int_equal(rec[2].lost, 2);
	assert_int_equal(rec[3].ts, 3000);
	assert_int_equal(rec[4].ts, 4000);
	assert_int_equal(rec[5].ts, 5000);
	assert_int_equal(fake_read_all(r, &lost), 0);
	reader_close(r);
	fake_free(f);
}

static void commit_beyond_the_page(void **state)
{
	static const uint64_t commits[] = {0, 1, 63, 64, 4097, 4112, UINT64_MAX};
	struct fake *f = fake_new(1, 8, 10);
	struct reader *r;
	uint64_t lost;

	for (unsigned int p = 0; p < 7; p++) {
		struct page_head *head = fake_take(f, 0, p, 100, 1000 * (p + 1));

		for (unsigned int i = 0; i < 252; i++)
			fake_call(f, 0, p, i, 1, 0);
		head->commit = commits[p];
		fake_publish(f, 0, p);
	}
	r = open_fake(f);
	/* up to 64 nothing; beyond the page's end what the page has */
	assert_int_equal(fake_read_all(r, &lost), 3 * 252);
	reader_close(r);
	fake_free(f);
}

static void stamps_that_overflow(void **state)
{
	struct fake *f = fake_new(1, 4, 10);
	struct reader *r;
	uint64_t lost;

	fake_take(f, 0, 0, 100, UINT64_MAX - 10);
	for (unsigned int i = 0; i < 20; i++)
		fake_call(f, 0, 0, i, 1, 0);
	fake_publish(f, 0, 0);
	fake_take(f, 0, 1, 100, 0);
	fake_call(f, 0, 1, 0, 1, 0);
	fake_publish(f, 0, 1);
	r = open_fake(f);
	assert_int_equal(fake_read_all(r, &lost), 21);
	reader_close(r);
	fake_free(f);
}

static void a_counter_without_pairs_is_the_time(void **state)
{
	struct fake *f = fake_new(1, 4, 10);
	struct record rec;
	struct reader *r;

	f->head->clock = AREA_CLOCK_TSC;
	fake_take(f, 0, 0, 100, 12345);
	fake_call(f, 0, 0, 0, 1, 0);
	fake_publish(f, 0, 0);
	r = open_fake(f);
	assert_false(r->ts_is_ns);
	assert_string_equal(r->clock, "x86-tsc");
	assert_int_equal(reader_read(r, 0, &rec, 1), 1);
	assert_int_equal(rec.ts, 12345);
	reader_close(r);
	fake_free(f);
}

static void put_values(struct fake *f, unsigned int kind, uint32_t stamp, unsigned int nr)
{
	fake_word(f, 0, 0, fake_record(kind, 1, stamp));
	for (unsigned int i = 0; i < nr; i++)
		fake_word(f, 0, 0, 0x100 * stamp + i);
}

/* The kinds with arguments and results are the kinds without, and lend what they have besides. */
static void arguments_and_results(void **state)
{
	struct fake *f = fake_new(1, 8, 10);
	struct record rec[8];
	struct reader *r;

	fake_take(f, 0, 0, 100, 1000);
	put_values(f, RECORD_ENTRY_ARGS, 1, 6);
	put_values(f, RECORD_FUNCTION_ARGS, 2, 7);
	put_values(f, RECORD_ENTRY, 3, 0);
	put_values(f, RECORD_EXIT, 4, 0);
	put_values(f, RECORD_EXIT_VALUE, 5, 1);
	/* one that does not fit ends the page */
	put_values(f, RECORD_FUNCTION_ARGS, 6, 6);
	fake_publish(f, 0, 0);
	r = open_fake(f);
	assert_true(r->graph);
	assert_true(r->values);
	assert_int_equal(reader_read(r, 0, rec, 8), 5);
	assert_int_equal(rec[0].kind, RECORD_ENTRY);
	assert_int_equal(rec[0].graph, RECORD_GRAPH_ARGS);
	assert_int_equal(rec[1].kind, RECORD_FUNCTION);
	assert_int_equal(rec[1].graph, RECORD_GRAPH_ARGS);
	assert_int_equal(rec[1].parent_ip, 0x200);
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(record_arg(rec[0].args, i), 0x100 + i);
		assert_int_equal(record_arg(rec[1].args, i), 0x201 + i);
	}
	assert_int_equal(rec[2].kind, RECORD_ENTRY);
	assert_int_equal(rec[2].graph, 0);
	assert_int_equal(rec[3].graph, 0);
	assert_int_equal(rec[4].kind, RECORD_EXIT);
	assert_int_equal(rec[4].graph, RECORD_GRAPH_RETVAL);
	assert_int_equal(rec[4].retval, 0x500);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(rec[i].process, 0);
	reader_close(r);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read_whole),
		cmocka_unit_test(texts_are_lent),
		cmocka_unit_test(arguments_and_results),
		cmocka_unit_test(a_caller_is_in_what_lay_there_then),
		cmocka_unit_test(a_caller_outside_keeps_its_address),
		cmocka_unit_test(overlapping_pages_are_merged),
		cmocka_unit_test(losses_stand_before_the_page_that_tells_them),
		cmocka_unit_test(what_was_overwritten_is_older_than_all),
		cmocka_unit_test(words_that_are_no_records),
		cmocka_unit_test(commit_beyond_the_page),
		cmocka_unit_test(stamps_that_overflow),
		cmocka_unit_test(a_counter_without_pairs_is_the_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
