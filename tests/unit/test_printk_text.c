/* SPDX-License-Identifier: MIT */
/* Texts of bprint and bputs whose formats and arguments are not what the engine writes. */
#include "cm.h"

#include <stdlib.h>
#include <string.h>

#include "tools/reader/printks.h"
#include "tools/text/printk_text.h"

static struct printks printks;
static struct reader reader = {.printks = &printks};

/* The text of a record with @bytes of arguments, which end where its memory ends. */
static void expect(uint16_t event, uint64_t number, const void *args, uint32_t bytes,
		   const char *want)
{
	char *data = calloc(1, 24 + bytes), text[PRINTK_TEXT_BYTES];
	const uint64_t ip = 0x1234;
	struct record rec = {
		.kind = RECORD_EVENT, .event = event, .data = data, .data_bytes = 24 + bytes};

	memcpy(data + 8, &ip, 8);
	memcpy(data + 16, &number, 8);
	if (bytes)
		memcpy(data + 24, args, bytes);
	assert_true(printk_text_take(&reader, &rec, text));
	assert_int_equal(rec.kind, RECORD_PRINT);
	assert_int_equal(rec.ip, ip);
	assert_int_equal(rec.data_bytes, strlen(want));
	assert_memory_equal(rec.data, want, strlen(want));
	free(data);
}

static int fill(void **state)
{
	static const char *const formats[] = {
		"%d and %s\n", "%*d|",
		"%99999d|",    "%5",
		"%n %d",       "%.*s|",
		"%d%d%d",      "%-+ #08.3lx|",
		"%1$d",	       "%----------------------------------------d",
		"100%%",       "%s%s",
		"%c",	       "%%%",
		"%hd",
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		assert_int_equal(printks_add(&printks, i + 1, formats[i], strlen(formats[i])), 0);
	assert_int_equal(printks_add(&printks, 1, "the same number", 8), 0);
	printks_settle(&printks);
	return *state != NULL;
}

static int empty(void **state)
{
	printks_free(&printks);
	return *state != NULL;
}

static void test_arguments(void **state)
{
	const int three[] = {1, -2, 3};
	const int huge[] = {1 << 30, 7}, small[] = {-5, 7}, many[] = {4096, 7};
	const uint32_t wide[] = {0xab, 0};
	const char text[] = "\7\0\0\0text";
	char padded[4096];

	(void)state;
	expect(6, 1, text, 9, "7 and text");
	expect(6, 1, text, 8, "7 and ");
	expect(6, 1, text, 4, "7 and ");
	expect(6, 1, text, 3, "");
	expect(6, 1, NULL, 0, "");
	expect(6, 7, three, 12, "1-23");
	expect(6, 7, three, 11, "1-2");
	expect(6, 2, huge, 8, "");
	expect(6, 2, small, 8, "7    |");
	memset(padded, ' ', sizeof(padded));
	padded[sizeof(padded) - 1] = '\0';
	expect(6, 2, many, 8, padded);
	expect(6, 6, "\2\0\0\0abc", 8, "ab|");
	expect(6, 6, "\2\0\0\0abc", 7, "");
	expect(6, 8, wide, 8, "0x0ab   |");
	expect(6, 12, "a\0b", 4, "ab");
	expect(6, 12, "a\0b", 3, "a");
}

static void test_formats(void **state)
{
	const uint64_t zeros[8] = {0};

	(void)state;
	expect(6, 3, zeros, 64, "");
	expect(6, 4, zeros, 64, "");
	expect(6, 5, zeros, 64, "");
	expect(6, 9, zeros, 64, "");
	expect(6, 10, zeros, 64, "");
	expect(6, 11, NULL, 0, "100%");
	expect(14, 11, NULL, 0, "100%%");
	expect(6, 13, zeros, 64, "");
	expect(6, 14, zeros, 64, "%");
	expect(6, 15, zeros, 64, "");
	expect(6, 77, zeros, 64, "(NO FORMAT FOUND at 4d)");
}

static void test_others(void **state)
{
	char data[64] = {0}, text[PRINTK_TEXT_BYTES];
	struct record rec = {.kind = RECORD_EVENT, .event = 6, .data = data, .data_bytes = 23};
	struct reader without = {.printks = NULL};

	(void)state;
	assert_false(printk_text_take(&reader, &rec, text));
	rec.data_bytes = 64;
	rec.event = 5;
	assert_false(printk_text_take(&reader, &rec, text));
	rec.event = 6;
	assert_false(printk_text_take(&without, &rec, text));
	rec.kind = RECORD_PRINT;
	assert_false(printk_text_take(&reader, &rec, text));
}

static void test_lines(void **state)
{
	static const char *const lines[] = {"0x000000000000002a : \"a \\\"b\\\" \\t\\\\ c\\n\"",
					    "",
					    "\"",
					    "0x1",
					    "0x2 : \"",
					    "nothing",
					    "0x3 : \"\\\""};
	struct printks p = {0};
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_int_equal(printks_add_line(&p, lines[i], strlen(lines[i])), 0);
	printks_settle(&p);
	assert_string_equal(printks_find(&p, 42), "a \"b\" \t\\ c\n");
	assert_null(printks_find(&p, 2));
	printks_print(&p, mem);
	fclose(mem);
	assert_memory_equal(text + strlen(text) - strlen(lines[0]) - 1, lines[0], strlen(lines[0]));
	free(text);
	printks_free(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, fill, empty);
}
