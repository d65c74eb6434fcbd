/* SPDX-License-Identifier: MIT */
/* Colours of lines: the characters between the escape sequences stay as they are. */
#include "cm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text/paint.h"

static int to_stream(void *arg, const char *text, size_t bytes)
{
	return fwrite(text, 1, bytes, arg) == bytes ? 0 : -EIO;
}

/* @as: the line with ~ for the sequence of @colour and ^ for the one that ends it. */
static void is_painted(const char *text, const char *colour, const char *as)
{
	char want[512] = "", *got;
	struct out o;
	size_t n;
	FILE *f = open_memstream(&got, &n);

	for (; *as; as++) {
		size_t at = strlen(want);

		if (*as == '~')
			snprintf(want + at, sizeof(want) - at, "\033[%sm", colour);
		else if (*as == '^')
			snprintf(want + at, sizeof(want) - at, "\033[0m");
		else
			snprintf(want + at, sizeof(want) - at, "%c", *as);
	}
	assert_int_equal(out_init_sink(&o, to_stream, f), 0);
	paint_line(&o, text, strlen(text));
	assert_int_equal(out_end(&o), 0);
	fclose(f);
	assert_string_equal(got, want);
	free(got);
}

static void test_headings_and_comments(void **state)
{
	is_painted("#     SELF   SHARE", "1", "~#     SELF   SHARE^");
	is_painted("", "1", "");
	is_painted(" 1.000 us [ 12] |   } /* main */", "2", " 1.000 us [ 12] |   } ~/* main */^");
	is_painted("a / b *", "2", "a / b *");
	is_painted("/", "2", "/");
}

static void test_times(void **state)
{
	is_painted("   1.234 us [ 12] | f();", "33", "   1.234 us [ 12] | f();");
	is_painted("   1.234 ms [ 12] | f();", "33", "   ~1.234 ms^ [ 12] | f();");
	is_painted("  12.345  s   100.000 ns  f", "31", "  ~12.345  s^   100.000 ns  f");
	is_painted("  1.234 ms", "33", "  ~1.234 ms^");
	is_painted("  1.234 msx 1.2", "33", "  1.234 msx 1.2");
	is_painted("  x1.234 ms 7. ms .5 ms", "33", "  x1.234 ms 7. ms .5 ms");
}

static void test_events(void **state)
{
	is_painted(
		"           calls-123   [001]    12.345678: sched_switch:         a:1 ==> b:2",
		"36",
		"           calls-123   [001]    12.345678: ~sched_switch^:         a:1 ==> b:2");
	is_painted("kernel:    calls-1 [000] d..1. 7.1: function: main", "36",
		   "kernel:    calls-1 [000] d..1. 7.1: ~function^: main");
	is_painted("a-1 [000] 7.1: ", "36", "a-1 [000] 7.1: ");
	is_painted("a-1 [000] 7.1:", "36", "a-1 [000] 7.1:");
	is_painted("a[1] 7.5 x: y", "36", "a[1] 7.5 x: y");
	is_painted("]", "36", "]");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headings_and_comments),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
