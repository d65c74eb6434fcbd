/* SPDX-License-Identifier: MIT */
/* Names of addresses, tools/code/symbols.c; what libtraceevent reads of them. */
#include "cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/code/symbols.h"

static const char *name_at(struct symbols *s, uint64_t addr)
{
	const struct symbol *sym = symbols_find(s, addr);

	return sym ? sym->name : "(none)";
}

static void test_find(void **state)
{
	struct symbols *s = symbols_new();

	assert_string_equal(name_at(s, 5), "(none)");
	symbols_add(s, 0x2000, 'T', "b", NULL);
	symbols_add(s, 0x1000, 'T', "a", NULL);
	symbols_add(s, 0x3000, 't', "c", "libc.so");
	assert_string_equal(name_at(s, 0xfff), "(none)");
	assert_string_equal(name_at(s, 0x1000), "a");
	assert_string_equal(name_at(s, 0x1fff), "a");
	assert_string_equal(name_at(s, 0x2000), "b");
	assert_string_equal(name_at(s, UINT64_MAX), "c");
	assert_string_equal(symbols_find(s, 0x3001)->module, "libc.so");
	assert_null(symbols_find(s, 0x1001)->module);
	/* twice: from the cache too */
	assert_string_equal(name_at(s, 0x1fff), "a");
	/* which a change must not outlive */
	symbols_add(s, 0x1800, 'T', "between", NULL);
	assert_string_equal(name_at(s, 0x1fff), "between");
	assert_int_equal(symbols_count(s), 4);
	assert_string_equal(symbols_at(s, 1)->name, "between");
	assert_null(symbols_at(s, 4));
	symbols_free(s);
}

static void test_first_of_equals(void **state)
{
	struct symbols *s = symbols_new();
	int i;

	symbols_add(s, 0x9000, 'T', "last", NULL);
	for (i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "n%d", i);
		symbols_add(s, 0x1000, 'T', name, NULL);
	}
	assert_string_equal(name_at(s, 0x1000), "n0");
	assert_string_equal(name_at(s, 0x1234), "n0");
	assert_string_equal(symbols_at(s, 4)->name, "n4");
	symbols_free(s);
}

static void test_many(void **state)
{
	struct symbols *s = symbols_new();
	char name[32];
	uint64_t i;

	/* in an order that is neither, with addresses that the cache's slots share */
	for (i = 0; i < 20000; i++) {
		uint64_t n = i * 7919 % 20000;

		snprintf(name, sizeof(name), "f%d", (int)n);
		symbols_add(s, 0x100000 + n * 16, 'T', name, i % 3 ? NULL : "libm.so");
	}
	for (i = 0; i < 40000; i++) {
		uint64_t n = i * 104729 % 20000;

		snprintf(name, sizeof(name), "f%d", (int)n);
		assert_string_equal(name_at(s, 0x100000 + n * 16 + i % 16), name);
	}
	symbols_free(s);
}

static void test_kallsyms(void **state)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffff81000100 t helper\n"
				   "ffffffff81000200 A absolute\n"
				   "ffffffff81000300 t $x\n"
				   "0000000000000000 T hidden\n"
				   "not a line\n"
				   "12\n"
				   "ffffffff81000400 T\n"
				   "\n"
				   "fffffffff81000400 T seventeen_digits\n"
				   "00007ffc00000000 t [vdso]\t[[vdso]]\n"
				   "ffffffffc0000000 t init\t[ext4]\n"
				   "ffffffffc0000100 t open_bracket\t[ext4\n"
				   "ffffffffc0000200 W tail";
	struct symbols *s = symbols_new();

	assert_int_equal(symbols_add_kallsyms(s, text, strlen(text)), 0);
	assert_int_equal(symbols_count(s), 6);
	assert_string_equal(name_at(s, 0xffffffff810003ff), "helper");
	assert_string_equal(symbols_find(s, 0xffffffffc0000010)->module, "ext4");
	assert_string_equal(symbols_find(s, 0x7ffc00000010)->module, "[vdso]");
	assert_null(symbols_find(s, 0xffffffffc0000110)->module);
	assert_string_equal(name_at(s, 0xffffffffc0000200), "tail");
	assert_int_equal(symbols_find(s, 0xffffffffc0000200)->type, 'W');
	symbols_free(s);
}

static char *print(struct symbols *s)
{
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_int_equal(symbols_print_kallsyms(s, f), 0);
	fclose(f);
	return text;
}

static void test_print(void **state)
{
	struct symbols *s = symbols_new(), *again = symbols_new();
	char *text;

	symbols_add(s, 0x100200001000, 't', "in lib", "my lib.so");
	symbols_add(s, 0x100100001000, 'T', "main", NULL);
	text = print(s);
	assert_string_equal(text, "0000100100001000 T main\n"
				  "0000100200001000 t in_lib\t[my_lib.so]\n"
				  "00001002ffffffff T _end\n");
	/* a table that was read from it prints the same, with one sentinel */
	symbols_add_kallsyms(again, text, strlen(text));
	free(text);
	text = print(again);
	assert_string_equal(text, "0000100100001000 T main\n"
				  "0000100200001000 t in_lib\t[my_lib.so]\n"
				  "00001002ffffffff T _end\n");
	free(text);
	symbols_free(again);
	symbols_free(s);
	s = symbols_new();
	text = print(s);
	assert_string_equal(text, "");
	free(text);
	symbols_free(s);
}

/* libtraceevent answers as we do, for the last symbol and for one of equals too. */
static void test_traceevent_agrees(void **state)
{
	struct symbols *s = symbols_new();
	struct tep_handle *tep = tep_alloc();
	char name[32], *text;
	uint64_t addr;
	int i;

	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		symbols_add(s, 0x100000001000 + (uint64_t)(i * 31 % 100) * 64, 'T', name, NULL);
	}
	text = print(s);
	assert_int_equal(tep_parse_kallsyms(tep, text), 0);
	for (addr = 0x100000001000; addr < 0x100000001000 + 101 * 64; addr += 7)
		assert_string_equal(tep_find_function(tep, addr), name_at(s, addr));
	free(text);
	tep_free(tep);
	symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_find),  cmocka_unit_test(test_first_of_equals),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_kallsyms),
		cmocka_unit_test(test_print), cmocka_unit_test(test_traceevent_agrees),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
