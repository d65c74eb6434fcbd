/* SPDX-License-Identifier: MIT */
/*
 * Records of a big-endian machine, turned round: libtraceevent, told that they are little-endian,
 * prints what it prints of them as they were. Places of fields that lie outside of a record harm
 * nothing.
 */
#include "cm.h"

#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include "tools/dat/dat_swap.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char bprint[] = "name: bprint\nID: 6\nformat:\n" COMMON
			     "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
			     "\tfield:const char * fmt;\toffset:16;\tsize:8;\tsigned:0;\n"
			     "\tfield:u32 buf[];\toffset:24;\tsize:0;\tsigned:0;\n\n"
			     "print fmt: \"%ps: %s\", (void *)REC->ip, REC->fmt\n";
static const char mixed[] =
	"name: mixed\nID: 500\nformat:\n" COMMON
	"\tfield:u64 wide;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:short few[3];\toffset:24;\tsize:6;\tsigned:1;\n"
	"\tfield:unsigned char small;\toffset:30;\tsize:1;\tsigned:0;\n"
	"\tfield:__data_loc u32[] many;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] text;\toffset:36;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"wide=%llx comm=%s few=%d,%d small=%d text=%s\", REC->wide, REC->comm, "
	"REC->few[0], REC->few[2], REC->small, __get_str(text)\n";
static const char stack[] =
	"name: kernel_stack\nID: 4\nformat:\n" COMMON
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1]\n";

#define FORMAT_AT 0x4000u

struct put {
	unsigned char data[256];
	uint32_t n;
};

static void put(struct put *p, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = bytes; i--;)
		p->data[p->n++] = (unsigned char)(v >> 8 * i);
}

static void put_text(struct put *p, const char *text)
{
	memcpy(p->data + p->n, text, strlen(text) + 1);
	p->n += (uint32_t)strlen(text) + 1;
}

static void put_common(struct put *p, uint16_t id)
{
	put(p, id, 2);
	put(p, 0, 2);
	put(p, 77, 4);
}

static struct tep_handle *handle(enum tep_endian file)
{
	struct tep_handle *tep = tep_alloc();

	assert_non_null(tep);
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_long_size(tep, 8);
	tep_set_file_bigendian(tep, file);
	tep_set_local_bigendian(tep, TEP_LITTLE_ENDIAN);
	assert_int_equal(tep_parse_event(tep, bprint, strlen(bprint), "ftrace"), 0);
	assert_int_equal(tep_parse_event(tep, mixed, strlen(mixed), "made"), 0);
	assert_int_equal(tep_parse_event(tep, stack, strlen(stack), "ftrace"), 0);
	return tep;
}

static const char *const printk = "%d %llu %s %lx %*d %5.2s|%% %pS %u\\n";
/* libtraceevent reads these as words */
static const char *const shorts = "%hd %c %hhd %-5zu %pI4 %Lx";

static struct dat_swap *swap_new(struct tep_handle *tep, struct printks *printks)
{
	struct dat_swap *s;

	assert_int_equal(printks_add(printks, FORMAT_AT, printk, strlen(printk)), 0);
	assert_int_equal(printks_add(printks, FORMAT_AT + 1, shorts, strlen(shorts)), 0);
	printks_settle(printks);
	s = dat_swap_new(tep, printks, 8);
	assert_non_null(s);
	return s;
}

static char *printed(struct tep_handle *tep, const struct put *p)
{
	struct tep_record rec = {.data = (void *)(uintptr_t)p->data, .size = (int)p->n};
	struct trace_seq s;
	char *text;

	trace_seq_init(&s);
	tep_print_event(tep, &s, &rec, "%s %d %s", TEP_PRINT_NAME, TEP_PRINT_PID, TEP_PRINT_INFO);
	trace_seq_terminate(&s);
	text = strdup(s.buffer);
	trace_seq_destroy(&s);
	assert_non_null(text);
	return text;
}

/* @word: a part of what must be printed. */
static void expect(struct put *p, uint16_t id, const char *word)
{
	struct tep_handle *big = handle(TEP_BIG_ENDIAN), *little = handle(TEP_LITTLE_ENDIAN);
	struct printks printks = {0};
	struct dat_swap *s = swap_new(little, &printks);
	char *line, *want, *got;

	assert_true(asprintf(&line, "%s\"", printk) > 0);
	tep_register_print_string(big, line, FORMAT_AT);
	tep_register_print_string(little, line, FORMAT_AT);
	free(line);
	want = printed(big, p);
	dat_swap_event(s, id, p->data, p->n);
	got = printed(little, p);
	assert_string_equal(got, want);
	if (!strstr(got, word))
		fail_msg("no '%s' in '%s'", word, got);
	free(want);
	free(got);
	dat_swap_free(s);
	printks_free(&printks);
	tep_free(big);
	tep_free(little);
}

static void put_bprint(struct put *p, uint64_t format)
{
	put_common(p, 6);
	put(p, 0xffffffff81000000, 8);
	put(p, format, 8);
}

static void test_bprint(void **state)
{
	struct put p = {.n = 0};

	put_bprint(&p, FORMAT_AT);
	put(&p, (uint32_t)-5, 4);
	put(&p, 0x123456789abcdef0, 8);
	put_text(&p, "abcd"); /* 5 bytes: the next number is aligned */
	p.n += -p.n & 3;
	put(&p, 0xfedcba9876543210, 8);
	put(&p, 6, 4);
	put(&p, 42, 4);
	put_text(&p, "yz");
	p.n += -p.n & 3;
	put(&p, 0xffffffff81000010, 8);
	put(&p, 4000000000, 4);
	expect(&p, 6,
	       "-5 1311768467463790320 abcd fedcba9876543210     42    yz|% 0xffffffff81000010 "
	       "4000000000");
}

static void test_short_arguments(void **state)
{
	static const unsigned char want[] = {0xfe, 0xff, 'x',  7,    8,	   7,	 6,    5,
					     4,	   3,	 2,    1,    '1',  '.',	 '2',  0,
					     0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11};
	struct tep_handle *tep = handle(TEP_LITTLE_ENDIAN);
	struct printks printks = {0};
	struct dat_swap *s = swap_new(tep, &printks);
	struct put p = {.n = 0};

	put_bprint(&p, FORMAT_AT + 1);
	put(&p, (uint16_t)-2, 2);
	put(&p, 'x', 1);
	put(&p, 7, 1);
	put(&p, 0x0102030405060708, 8);
	put_text(&p, "1.2");
	put(&p, 0x1112131415161718, 8);
	dat_swap_event(s, 6, p.data, p.n);
	assert_int_equal(p.n, 24 + sizeof(want));
	assert_memory_equal(p.data + 24, want, sizeof(want));
	dat_swap_free(s);
	printks_free(&printks);
	tep_free(tep);
}

static void mixed_record(struct put *p, uint32_t many, uint32_t text)
{
	put_common(p, 500);
	put(p, 0x0102030405060708, 8);
	memcpy(p->data + p->n, "program", 8);
	p->n += 8;
	put(p, (uint16_t)-3, 2);
	put(p, 0, 2);
	put(p, 300, 2);
	put(p, 9, 1);
	p->n++;
	put(p, many, 4);
	put(p, text, 4);
	put(p, 0x11111112, 4);
	put(p, 0x22222223, 4);
	put(p, 0x33333334, 4);
	put_text(p, "behind");
}

static void test_fields(void **state)
{
	struct put p = {.n = 0};

	mixed_record(&p, 12 << 16 | 40, 7 << 16 | 52);
	expect(&p, 500,
	       "mixed 77 wide=102030405060708 comm=program few=65533,300 small=9 "
	       "text=behind");
	assert_memory_equal(p.data + 40, "\x12\x11\x11\x11\x23\x22\x22\x22\x34\x33\x33\x33", 12);
}

static void test_stack_is_longer_than_declared(void **state)
{
	struct put p = {.n = 0};

	put_common(&p, 4);
	put(&p, 10, 4);
	put(&p, 0, 4);
	for (uint64_t i = 0; i < 10; i++)
		put(&p, 0xffffffff81000000 + i, 8);
	expect(&p, 4, "kernel_stack 77 ");
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t v;

		memcpy(&v, p.data + 16 + 8 * i, 8);
		assert_true(v == 0xffffffff81000000 + i);
	}
}

/* Each length, so that each field is cut once, and words that point outside. */
static void test_hostile(void **state)
{
	static const uint32_t words[] = {0, UINT32_MAX, 0xffff0000, 0x0000ffff, 12 << 16 | 60};
	struct tep_handle *tep = handle(TEP_LITTLE_ENDIAN);
	struct printks printks = {0};
	struct dat_swap *s = swap_new(tep, &printks);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct put p = {.n = 0};

		mixed_record(&p, words[i], words[i]);
		for (uint32_t n = 0; n <= p.n; n++) {
			unsigned char *copy = malloc(n + 1);

			assert_non_null(copy);
			memcpy(copy, p.data, n);
			copy[n] = 0xa5;
			dat_swap_event(s, 500, copy, n);
			dat_swap_event(s, 6, copy, n);
			dat_swap_event(s, 4, copy, n);
			dat_swap_event(s, 9, copy, n);
			assert_int_equal(copy[n], 0xa5);
			free(copy);
		}
	}
	dat_swap_free(s);
	printks_free(&printks);
	tep_free(tep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bprint),
		cmocka_unit_test(test_short_arguments),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_stack_is_longer_than_declared),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
