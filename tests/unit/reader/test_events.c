/* SPDX-License-Identifier: MIT */
/* Events of an area: by their formats, with the reader's ids, and in tables with false contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include <cmocka.h>

#include "fake_area.h"
#include "tools/area/follow.h"
#include "tools/base/time_ns.h"
#include "tools/code/symbols.h"
#include "tools/text/printk_text.h"

#define COMMON                                                                                     \
	"format:\n"                                                                                \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char format[] =
	"name: sale\nID: 40\n" COMMON
	"\tfield:unsigned long where;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int n;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\nprint fmt: \"%d%% \\\"%*d\\\" at %pS, %s\", REC->n, 2, REC->n, (void *)REC->where, "
	"__print_symbolic(REC->n, {7, \"a,b\"})\n";

/* Event @row of @system has the text at @at of the formats. */
static void describe(struct fake *f, uint32_t row, uint16_t id, uint32_t at, const char *text)
{
	char *strings = fake_row(f, AREA_STRINGS, 0);
	struct area_event *e = fake_row(f, AREA_EVENTS, row);

	strcpy(strings + 40, "shop");
	strcpy(fake_row(f, AREA_FORMATS, at), text);
	*e = (struct area_event){
		.system = 40, .format = at, .format_bytes = (uint32_t)strlen(text), .id = id};
}

static void put(struct fake *f, uint16_t id, uint32_t stamp, uint64_t where, int n)
{
	fake_word(f, 0, 0, fake_record(RECORD_EVENT, RECORD_EVENT_ID(id, 24), stamp));
	fake_word(f, 0, 0, where);
	fake_word(f, 0, 0, (uint32_t)n);
}

static struct reader *open_fake(struct fake *f)
{
	struct reader *r;

	fake_publish(f, 0, 0);
	assert_int_equal(reader_open(fake_write(f, 0), &r), 0);
	return r;
}

static void an_event_is_read_by_its_format(void **state)
{
	struct fake *f = fake_new(1, 2, 10);
	struct tep_event *ev;
	struct record rec[3];
	struct tep_record tr = {0};
	struct trace_seq seq;
	struct reader *r;

	(void)state;
	describe(f, 0, 40, 0, format);
	fake_take(f, 0, 0, 100, 5000);
	put(f, 40, 1, FAKE_BIAS + 0x1000 + 16 * 3 + 4, 7);
	put(f, 41, 2, 0, 0); /* of an event without a format */
	put(f, 40, 3, FAKE_BIAS + 0x1000, 8);
	r = open_fake(f);
	assert_int_equal(reader_read(r, 0, rec, 3), 2);
	assert_int_equal(rec[0].kind, RECORD_EVENT);
	assert_int_equal(rec[0].event, 40);
	assert_int_equal(rec[0].data_bytes, 24);
	assert_int_equal(rec[0].pid, 100);
	assert_int_equal(rec[1].lost, 1);
	ev = tep_find_event(r->tep, 40);
	assert_non_null(ev);
	assert_string_equal(ev->system, "shop");
	trace_seq_init(&seq);
	tr.data = (void *)(uintptr_t)rec[0].data;
	tr.size = (int)rec[0].data_bytes;
	assert_int_equal(tep_data_pid(r->tep, &tr), 100);
	assert_int_equal(tep_data_type(r->tep, &tr), 40);
	tep_print_event(r->tep, &seq, &tr, "%s", TEP_PRINT_INFO);
	trace_seq_terminate(&seq);
	assert_string_equal(seq.buffer, "7% \" 7\" at unnamed+0x1030+0x4, a,b");
	trace_seq_destroy(&seq);
	reader_close(r);
	fake_free(f);
}

/* Two records of bprint, of formats 42 and 43, which the tables do not have. */
static struct fake *printed(void)
{
	static const char bprint[] = "name: bprint\nID: 6\n" COMMON
				     "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
				     "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
				     "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n"
				     "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
	struct fake *f = fake_new(1, 2, 10);

	describe(f, 0, 6, 0, bprint);
	strcpy(fake_row(f, AREA_STRINGS, 40), "ftrace");
	fake_take(f, 0, 0, 100, 5000);
	for (uint32_t i = 0; i < 2; i++) {
		fake_word(f, 0, 0, fake_record(RECORD_EVENT, RECORD_EVENT_ID(6, 32), i));
		fake_word(f, 0, 0, FAKE_BIAS + 0x1000 + 16 * 3 + 4);
		fake_word(f, 0, 0, 42 + i);
		fake_word(f, 0, 0, 7);
	}
	return f;
}

/* The process has used and listed format 42. */
static void format_comes(struct fake *f)
{
	FILE *file;

	strcpy(fake_row(f, AREA_FORMATS, 2000), "came later: %d\n");
	*(struct area_printk *)fake_row(f, AREA_PRINTKS, 0) =
		(struct area_printk){.number = 42, .text = 2000};
	AREA_TABLE(f->head, AREA_PRINTKS)->count = 1;
	file = fopen(fake_path("area"), "r+");
	assert_non_null(file);
	assert_int_equal(fwrite(f->bytes, f->size, 1, file), 1);
	fclose(file);
}

/* A format that is printed for the first time behind the reader's look at the tables. */
static void a_printed_format_comes_later(void **state)
{
	struct fake *f = printed();
	char text[PRINTK_TEXT_BYTES];
	struct record rec[2];
	struct reader *r = open_fake(f);

	(void)state;
	assert_int_equal(reader_read(r, 0, rec, 2), 2);
	format_comes(f);
	assert_true(printk_text_take(r, &rec[0], text));
	assert_int_equal(rec[0].data_bytes, strlen("came later: 7"));
	assert_memory_equal(rec[0].data, "came later: 7", rec[0].data_bytes);
	assert_string_equal(symbols_find(r->symbols, rec[0].ip)->name, "unnamed+0x1030");
	assert_true(printk_text_take(r, &rec[1], text));
	assert_memory_equal(rec[1].data, "(NO FORMAT", 10);
	reader_close(r);
	fake_free(f);
}

static bool lives(const void *arg)
{
	return true;
}

/* The same of a consuming reader, between its look at the tables and at the records. */
static void a_follower_meets_an_unknown_format(void **state)
{
	const struct followed what = {.path = fake_path("area"), .lives = lives};
	struct fake *f = printed();
	char text[PRINTK_TEXT_BYTES];
	struct follow *follow;
	struct record rec[2];

	(void)state;
	fake_publish(f, 0, 0);
	fake_write(f, 0);
	assert_int_equal(follow_open(&what, false, &follow), 0);
	assert_int_equal(follow_turn(follow, NULL, 0), 1);
	assert_int_equal(reader_read(follow_reader(follow), 0, rec, 2), 2);
	format_comes(f);
	assert_true(printk_text_take(follow_reader(follow), &rec[1], text));
	assert_memory_equal(rec[1].data, "(NO FORMAT", 10);
	assert_true(printk_text_take(follow_reader(follow), &rec[0], text));
	assert_memory_equal(rec[0].data, "came later: 7", rec[0].data_bytes);
	/* nor is the reader made anew for it: one that is made every 10 ms reads nothing else */
	assert_true(follow_turn(follow, NULL, 0) >= 0);
	follow_close(follow);
	fake_free(f);
}

/* A process that has one event more, or less, each time when it is asked for. */
static bool lives_and_grows(const void *arg)
{
	const struct fake *f = arg;
	struct area_table *t = AREA_TABLE(f->head, AREA_EVENTS);
	FILE *file = fopen(fake_path("area"), "r+");

	assert_non_null(file);
	t->count = 3 - t->count;
	assert_int_equal(fwrite(f->head, sizeof(*f->head), 1, file), 1);
	fclose(file);
	return true;
}

static void a_follower_reads_while_events_come(void **state)
{
	struct fake *f = fake_new(1, 2, 10);
	const struct followed what = {
		.path = fake_path("area"), .lives = lives_and_grows, .arg = f};
	struct follow *follow;
	struct record rec[2];
	bool renewed = false;

	(void)state;
	describe(f, 0, 40, 0, format);
	describe(f, 1, 41, 1000, format);
	AREA_TABLE(f->head, AREA_EVENTS)->count = 1;
	fake_take(f, 0, 0, 100, 5000);
	put(f, 40, 1, FAKE_BIAS + 0x1000, 7);
	fake_publish(f, 0, 0);
	/* of the far future: the tables may not have its event yet */
	fake_take(f, 0, 1, 100, time_ns(CLOCK_MONOTONIC) + UINT64_C(1000000000000));
	fake_word(f, 0, 1, fake_record(RECORD_EVENT, RECORD_EVENT_ID(40, 24), 1));
	fake_word(f, 0, 1, FAKE_BIAS + 0x1000);
	fake_word(f, 0, 1, 8);
	fake_publish(f, 0, 1);
	fake_write(f, 0);
	assert_int_equal(follow_open(&what, false, &follow), 0);
	assert_int_equal(follow_look(follow, NULL, 0, &renewed), 1);
	assert_true(renewed);
	assert_int_equal(reader_read(follow_reader(follow), 0, rec, 2), 1);
	assert_int_equal(rec[0].event, 40);
	follow_take(follow, 0, 1);
	follow_close(follow);
	fake_free(f);
}

static void one_event_has_one_id(void **state)
{
	struct fake *f = fake_new(1, 2, 10);
	struct record rec[4];
	struct reader *r;
	char other[sizeof(format)];

	(void)state;
	describe(f, 0, 40, 0, format);
	memcpy(other, format, sizeof(format));
	memcpy(strstr(other, "sale"), "sell", 4);
	describe(f, 1, 40, 1000, other); /* the same id again: another event */
	memcpy(other, format, sizeof(format));
	memcpy(strstr(other, "ID: 40"), "ID: 43", 6);
	describe(f, 2, 43, 2000, other); /* the first one under another id */
	describe(f, 3, 5, 3000, format); /* and under one of the system ftrace */
	fake_take(f, 0, 0, 100, 5000);
	put(f, 43, 1, 0, 7);
	put(f, 40, 2, 0, 7);
	put(f, 5, 3, 0, 7);
	r = open_fake(f);
	assert_int_equal(reader_read(r, 0, rec, 4), 3);
	assert_int_equal(rec[0].event, 40);
	assert_int_equal(rec[1].event, 32);
	assert_int_equal(rec[2].event, 40);
	assert_string_equal(tep_find_event(r->tep, 32)->name, "sell");
	reader_close(r);
	fake_free(f);
}

static void tables_that_lie(void **state)
{
	static const char *const bad[] = {"",
					  "nothing",
					  "name: x\nID: \n",
					  "name: x\nID: 40x\n",
					  "ID: 40\nname: x\n",
					  "name: \n\n\n"};
	struct record rec[2];
	struct reader *r;

	(void)state;
	for (unsigned int i = 0; i < 10; i++) {
		struct fake *f = fake_new(1, 2, 10);
		struct area_event *e;

		describe(f, 0, 40, 0, i < 6 ? bad[i] : format);
		e = fake_row(f, AREA_EVENTS, 0);
		if (i == 6)
			e->format = 4095;
		if (i == 7)
			e->format_bytes = UINT32_MAX;
		if (i == 8)
			e->format_bytes--;
		if (i == 9)
			e->system = 0;
		fake_take(f, 0, 0, 100, 5000);
		put(f, 40, 1, 0, 7);
		fake_call(f, 0, 0, 7, 3, 0);
		r = open_fake(f);
		assert_int_equal(reader_read(r, 0, rec, 2), 1);
		assert_int_equal(rec[0].kind, RECORD_FUNCTION);
		assert_int_equal(rec[0].lost, 1);
		reader_close(r);
		fake_free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_is_read_by_its_format),
		cmocka_unit_test(a_printed_format_comes_later),
		cmocka_unit_test(a_follower_meets_an_unknown_format),
		cmocka_unit_test(a_follower_reads_while_events_come),
		cmocka_unit_test(one_event_has_one_id),
		cmocka_unit_test(tables_that_lie),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
