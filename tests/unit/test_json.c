/* SPDX-License-Identifier: MIT */
/* Strings of --json: UTF-8 stays as it is, other bytes become U+FFFD. */
#include "cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text/json.h"

static int to_stream(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -EIO;
}

static void is_shown(const char *text, const char *as)
{
	struct out o;
	char *got;
	size_t n;
	FILE *f = open_memstream(&got, &n);

	assert_int_equal(out_init_sink(&o, to_stream, f), 0);
	json_put(&o, text);
	assert_int_equal(out_end(&o), 0);
	fclose(f);
	assert_string_equal(got, as);
	free(got);
}

static void test_names(void **state)
{
	is_shown(NULL, "null");
	is_shown("", "\"\"");
	is_shown("a \"b\" \\ c", "\"a \\\"b\\\" \\\\ c\"");
	is_shown("a\tb\n\x7f", "\"a\\u0009b\\u000a\\u007f\"");
	is_shown("gr\xc3\xb6\xc3\x9f"
		 "e",
		 "\"gr\xc3\xb6\xc3\x9f"
		 "e\"");
	is_shown("\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf",
		 "\"\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\"");
}

static void test_what_is_no_utf8(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3",
		"\xe0\x9f\xbf",
		"\xe2\x82",
		"\xed\xa0\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x9f\x98",
		"\xf4\x90\x80\x80",
		"\xff",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char text[16], want[64] = "\"a";

		snprintf(text, sizeof(text), "a%sz", bad[i]);
		for (size_t k = 0; k < strlen(bad[i]); k++)
			strcat(want, "\\ufffd");
		strcat(want, "z\"");
		is_shown(text, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_is_no_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
