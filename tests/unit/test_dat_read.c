/* SPDX-License-Identifier: MIT */
/* Files of others and broken ones, tools/reader/dat_*.c. */
#include "cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <traceevent/event-parse.h>
#include <unistd.h>

#include "scratch.h"
#include "synth.h"
#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/dat_format.h"
#include "tools/export/dat_write.h"
#include "tools/reader/formats.h"
#include "tools/reader/tasks.h"
#include "tools/text/trace_text.h"

static const char *const kernel_files[] = {"kernel-v6.dat", "kernel-v7.dat", "kernel-v7-zstd.dat"};
#define NR_FILES (sizeof(kernel_files) / sizeof(kernel_files[0]))

static void test_kernel_files(void **state)
{
	size_t i;

	for (i = 0; i < NR_FILES; i++) {
		char *path = data_path(kernel_files[i]);
		struct record rec[200];
		struct reader *r;
		int n, k;

		assert_int_equal(reader_open_dat(path, &r), 0);
		assert_int_equal(r->nr_cpus, 2);
		assert_string_equal(r->clock, "local");
		assert_string_equal(r->tracer, "nop");
		assert_string_equal(r->uname, "Linux vm 6.18.44-fc-v657 x86_64");
		assert_string_equal(tasks_comm(r->tasks, 26343), "bash");
		assert_non_null(r->tep);
		assert_int_equal(r->stats[0].read_events, 20);
		assert_int_equal(r->stats[1].read_events, 142);
		/* counted: the kernel's number is what was left in its buffer */
		assert_int_equal(r->stats[0].entries, 20);
		assert_int_equal(r->stats[1].entries, 142);
		assert_int_equal(r->stats[1].now_ts, 1722103267000);
		n = reader_read(r, 1, rec, 200);
		assert_int_equal(n, 142);
		for (k = 0; k < n; k++) {
			const struct tep_event *e = tep_find_event(r->tep, rec[k].event);

			assert_int_equal(rec[k].kind, RECORD_EVENT);
			assert_int_equal(rec[k].lost, 0);
			assert_non_null(e);
			assert_string_equal(e->system, "sched");
			assert_true(!k || rec[k].ts >= rec[k - 1].ts);
		}
		assert_int_equal(rec[0].pid, 26343);
		assert_int_equal((rec[0].ts + 500) / 1000, 1721837269);
		reader_close(r);
		free(path);
	}
}

static void test_refusals(void **state)
{
	char *path = scratch_path("x.dat"), *dir = scratch_path("");
	struct reader *r;
	char head[64];

	assert_int_equal(reader_open_dat(path, &r), -ENOENT);
	assert_non_null(strstr(fail_text(), path));
	assert_int_equal(reader_open_dat(dir, &r), -EINVAL);
	scratch_write(path, "", 0);
	assert_int_equal(reader_open_dat(path, &r), -EINVAL);
	scratch_write(path, "hello, this is no trace.dat", 27);
	assert_int_equal(reader_open_dat(path, &r), -EINVAL);
	memset(head, 0, sizeof(head));
	memcpy(head, "\x17\x08\x44tracing8", 11);
	head[13] = 8;
	scratch_write(path, head, sizeof(head));
	assert_int_equal(reader_open_dat(path, &r), -EPROTO);
	assert_non_null(strstr(fail_text(), "version 8"));
	memcpy(head + 10, "6\0\1\x08\0\0\x10\0", 8); /* big-endian, and nothing behind the head */
	scratch_write(path, head, sizeof(head));
	assert_int_equal(reader_open_dat(path, &r), -EINVAL);
	assert_non_null(strstr(fail_text(), "not a whole trace.dat"));
	memcpy(head + 10, "7\0\0\x08\0\x10\0\0zlib\0", 13);
	scratch_write(path, head, sizeof(head));
	assert_int_equal(reader_open_dat(path, &r), -EPROTO);
	assert_non_null(strstr(fail_text(), "zlib"));
	unlink(path);
	free(path);
	free(dir);
}

static void test_fields(void **state)
{
	static const char text[] = "name: function\nID: 1\nformat:\n"
				   "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n"
				   "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
				   "\tfield:void *parent_ip;\toffset:16;\tsize:8;\n"
				   "\tfield:char tip;\toffset:1;\tsize:1;\n"
				   "\tfield:unsigned long args[];\toffset:24;\tsize:0;\n"
				   "\tfield:int huge;\toffset:99999;\tsize:4;\n"
				   "\tfield:int broken;\tsize:4;\n";

	assert_int_equal(formats_field(text, "ip").offset, 8);
	assert_int_equal(formats_field(text, "parent_ip").offset, 16);
	assert_int_equal(formats_field(text, "tip").offset, 1);
	assert_int_equal(formats_field(text, "args").offset, 24);
	assert_int_equal(formats_field(text, "args").bytes, 0);
	assert_int_equal(formats_field(text, "common_type").bytes, 2);
	assert_int_equal(formats_field(text, "huge").bytes, 0);
	assert_int_equal(formats_field(text, "broken").bytes, 0);
	assert_int_equal(formats_field(text, "none").bytes, 0);
}

static void test_cursor(void **state)
{
	struct cursor c;
	char name[4], *text;

	cursor_on_memory(&c, "ab\0\1\2\3\4\5\6\7\x08xyz", 14);
	assert_true(cursor_string(&c, name, sizeof(name)));
	assert_string_equal(name, "ab");
	assert_int_equal(cursor_u64(&c), 0x0807060504030201);
	text = cursor_text(&c, 3);
	assert_string_equal(text, "xyz");
	free(text);
	assert_false(c.bad);
	assert_int_equal(cursor_u16(&c), 0);
	assert_true(c.bad);
	assert_null(cursor_text(&c, 0));
	cursor_on_memory(&c, "abcd", 4);
	assert_false(cursor_string(&c, name, sizeof(name)));
	cursor_on_memory(&c, "abcd", 4);
	assert_null(cursor_text(&c, UINT64_MAX));
	cursor_on_memory(&c, "abcd", 4);
	cursor_skip(&c, UINT64_MAX);
	assert_true(c.bad);
}

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* On the second one libtraceevent 1.7.1 ends the process that reads it. */
static void test_deadly_format(void **state)
{
	static const char *const texts[] = {
		"name: before\nID: 30\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\n"
		"print fmt: \"a=%d\", REC->a\n",
		"name: deadly\nID: 31\n" COMMON
		"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
		"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[3]$ (void "
		"*)REC->caller[4], "
		"(void *)REC->cal\n",
		"name: unwanted\nID: 32\n" COMMON "print fmt: \"\"\n",
		"name: after\nID: 33\n" COMMON "\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\n"
		"print fmt: \"a=%d\", REC->a\n",
	};
	static bool wanted[65536];
	struct dat_layout layout = {.function_id = -1};
	struct symbols *s = symbols_new();
	struct tep_handle *tep = formats_handle_new(s, 8, false);
	struct formats f = {0};
	size_t i;

	for (i = 0; i < 4; i++)
		assert_int_equal(
			formats_add(&f, &layout, "sched", strdup(texts[i]), strlen(texts[i])), 0);
	assert_int_equal(f.nr, 4);
	assert_int_equal(layout.pid.offset, 4);
	wanted[30] = wanted[31] = wanted[33] = true;
	assert_int_equal(formats_parse(&f, tep, wanted), 0);
	assert_non_null(tep_find_event(tep, 30));
	assert_null(tep_find_event(tep, 32));
	assert_string_equal(tep_find_event(tep, 33)->name, "after");
	formats_free(&f);
	tep_free(tep);
	symbols_free(s);
}

/* What a chunk's head may not say. */
static void test_damaged_chunks(void **state)
{
	static const struct {
		uint32_t packed, bytes;
		const char *word;
	} rows[] = {
		{0x7fffffff, 4096, "reaches beyond"}, {393, 4096, "reaches beyond"},
		{392, 4095, "impossible size"},	      {392, 0, "impossible size"},
		{392, 0x80000000, "impossible size"}, {392, 8192, "does not decompress"},
		{100, 4096, "does not decompress"},
	};
	char *from = data_path("kernel-v7-zstd.dat"), *to = scratch_path("chunk.dat");
	size_t bytes, i;
	char *file = scratch_read(from, &bytes);
	/* CPU 0's count of chunks and the head of its only one */
	static const uint32_t head[] = {1, 392, 4096};
	char *at = memmem(file, bytes, head, sizeof(head));
	struct record rec[100];
	struct reader *r;

	assert_non_null(at);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(at + 4, &rows[i].packed, 8);
		scratch_write(to, file, bytes);
		assert_int_equal(reader_open_dat(to, &r), 0);
		assert_int_equal(reader_read(r, 0, rec, 100), -EINVAL);
		assert_non_null(strstr(fail_text(), rows[i].word));
		assert_int_equal(reader_read(r, 1, rec, 100), 100);
		reader_close(r);
	}
	unlink(to);
	free(file);
	free(from);
	free(to);
}

/* An option's text, which is of @bytes, becomes a number of another option. */
static void set_option(char *text, size_t bytes, uint16_t id, const char *number)
{
	memset(text, 0, bytes);
	strcpy(text, number);
	memcpy(text - 6, &id, sizeof(id));
}

/* Offsets of the clock, as large as text can say, are added as the kernel's clocks are: modulo
 * 2^64. */
static void test_clock_offsets(void **state)
{
	static const struct {
		uint16_t id;
		const char *number;
		uint64_t sum; /* of it twice */
	} rows[] = {
		{DAT_OFFSET, "9223372036854775807", UINT64_MAX - 1},
		{DAT_OFFSET, "-9223372036854775808", 0},
		{DAT_DATE, "0xffffffffffffffff", UINT64_MAX - 1999},
		{DAT_DATE, "9223372036854775807", UINT64_MAX - 1999},
		{DAT_DATE, "4611686018427387904", 0},
	};
	char *from = data_path("kernel-v7.dat"), *to = scratch_path("offset.dat");
	size_t bytes, i;
	char *file = scratch_read(from, &bytes);
	char *at[2] = {memmem(file, bytes, "CPU: 0\n", 7), memmem(file, bytes, "CPU: 1\n", 7)};
	struct record was[10], rec[10];
	struct reader *r;

	assert_int_equal(reader_open_dat(from, &r), 0);
	assert_int_equal(reader_read(r, 0, was, 10), 10);
	reader_close(r);
	assert_true(at[0] && at[1]);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		set_option(at[0], 60, rows[i].id, rows[i].number);
		set_option(at[1], 60, rows[i].id, rows[i].number);
		scratch_write(to, file, bytes);
		assert_int_equal(reader_open_dat(to, &r), 0);
		assert_int_equal(reader_read(r, 0, rec, 10), 10);
		for (int k = 0; k < 10; k++)
			assert_int_equal(rec[k].ts, was[k].ts + rows[i].sum);
		reader_close(r);
	}
	unlink(to);
	free(file);
	free(from);
	free(to);
}

/* libtraceevent leaks a few bytes of formats that it cannot parse. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:tep_parse_event\n";
}

/* Everything of the file, printed to nowhere. */
static void use(const char *path, int null)
{
	struct trace_text *t;
	const struct record *rec;
	struct reader *r;
	struct merge *m;
	struct out o;
	int n = 0;

	if (reader_open_dat(path, &r))
		return;
	assert_int_equal(out_init(&o, null), 0);
	m = merge_new(r);
	t = trace_text_new(r, &o, NULL);
	trace_text_header(t);
	while (n++ < 100000 && merge_next(m, &rec) > 0)
		trace_text_record(t, rec);
	out_end(&o);
	trace_text_free(t);
	merge_free(m);
	reader_close(r);
}

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A byte, a number that is often wrong, or the end moved; @lo and @hi: where. */
static size_t mutate(unsigned char *p, size_t bytes, size_t lo, size_t hi)
{
	static const uint32_t numbers[] = {0,	   1,	       7,	   0x1000,
					   0xffff, 0x7fffffff, 0xffffffff, 0x80000000};
	size_t at = lo + random_next() % (hi - lo);

	switch (random_next() % 8) {
	case 0:
		return at;
	case 1:
	case 2:
		if (at + 4 <= bytes)
			memcpy(p + at, &numbers[random_next() % 8], 4);
		return bytes;
	case 3:
		if (at + 64 <= bytes)
			memmove(p + at, p + at + random_next() % 32, 32);
		return bytes;
	default:
		p[at] ^= (unsigned char)(1u << random_next() % 8);
		return bytes;
	}
}

static void fuzz(const char *from, unsigned int rounds, size_t lo, size_t hi)
{
	char *to = scratch_path("fuzz.dat");
	FILE *null = fopen("/dev/null", "w");
	size_t bytes, now;
	unsigned char *good = (unsigned char *)scratch_read(from, &bytes), *copy;
	unsigned int i, k;

	assert_non_null(good);
	copy = malloc(bytes);
	if (hi > bytes)
		hi = bytes;
	for (i = 0; i < rounds; i++) {
		memcpy(copy, good, bytes);
		now = bytes;
		for (k = 0; k <= i % 4 && lo < now; k++)
			now = mutate(copy, now, lo, hi < now ? hi : now);
		scratch_write(to, copy, now);
		use(to, fileno(null));
	}
	fclose(null);
	unlink(to);
	free(copy);
	free(good);
	free(to);
}

static unsigned int fuzz_rounds(unsigned int usual)
{
	const char *factor = getenv("VESTIGE_FUZZ");

	return factor ? usual * (unsigned int)atoi(factor) : usual;
}

/* What counts: no crash, no sanitizer's complaint, no endless loop. */
static void test_mutations_of_kernel_files(void **state)
{
	size_t i;

	for (i = 0; i < NR_FILES; i++) {
		char *path = data_path(kernel_files[i]);

		random_state = 88172645463325252 + i;
		fuzz(path, fuzz_rounds(80), 0, SIZE_MAX);
		fuzz(path, fuzz_rounds(40), 0, 600);
		free(path);
	}
}

static void test_mutations_of_ours(void **state)
{
	static const struct dat_options kinds[] = {
		{.version = 6}, {.version = 7}, {.version = 7, .zstd_level = 1}};
	char *path = scratch_path("ours.dat");
	size_t i;

	for (i = 0; i < 3; i++) {
		struct reader *src = synth_new(2, 1600, synth_function_lost);

		assert_int_equal(dat_write(path, src, &kinds[i]), 0);
		reader_close(src);
		random_state = 88172645463325252 + i;
		fuzz(path, fuzz_rounds(300), 0, SIZE_MAX);
		fuzz(path, fuzz_rounds(300), 0, 1200);
	}
	unlink(path);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel_files),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_deadly_format),
		cmocka_unit_test(test_damaged_chunks),
		cmocka_unit_test(test_clock_offsets),
		cmocka_unit_test(test_mutations_of_kernel_files),
		cmocka_unit_test(test_mutations_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
