/* SPDX-License-Identifier: MIT */
/* The engine's own glob, numbers and site encodings; libc's fnmatch() and strtoull() are oracles. */
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch_patch.h"
#include "engine/base/glob.h"

int str_to_u64(const char *s, size_t n, uint64_t *out);

static void glob_kernel_cases(void **state)
{
	static const struct {
		const char *pattern, *s;
		int match;
	} cases[] = {
		{"main", "main", 1},
		{"main", "main2", 0},
		{"main*", "main2", 1},
		{"*main", "xmain", 1},
		{"*main", "mainx", 0},
		{"*ai*", "main", 1},
		{"", "", 1},
		{"", "a", 0},
		{"*", "", 1},
		{"a?c", "abc", 1},
		{"a?c", "ac", 0},
		{"[a-c]x", "bx", 1},
		{"[!a-c]x", "bx", 0},
		{"[!a-c]x", "dx", 1},
		{"[]]x", "]x", 1},
		{"\\*x", "*x", 1},
		{"\\*x", "ax", 0},
		{"a*b*c", "aXbYbZc", 1},
		{"a*b*c", "aXbYbZ", 0},
		{"[abc", "[abc", 1},
		{"*_*_*", "a_b", 0},
		{"*[0-9]", "f12", 1},
		{"**a", "bba", 1},
		{"a\\", "a\\", 1},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (glob_match(cases[i].pattern, strlen(cases[i].pattern), cases[i].s) !=
		    cases[i].match)
			fail_msg("'%s' against '%s' is not %d", cases[i].pattern, cases[i].s,
				 cases[i].match);
}

/* Random patterns over a small alphabet: whatever is well-formed agrees with libc. */
static void glob_as_fnmatch(void **state)
{
	static const char letters[] = "ab*?";
	unsigned int seed = 1, i, k;

	(void)state;
	for (i = 0; i < 200000; i++) {
		char pattern[9] = "", s[9] = "";
		unsigned int np = (unsigned int)rand_r(&seed) % 8;
		unsigned int ns = (unsigned int)rand_r(&seed) % 8;

		for (k = 0; k < np; k++)
			pattern[k] = letters[rand_r(&seed) % 4];
		for (k = 0; k < ns; k++)
			s[k] = letters[rand_r(&seed) % 2];
		if (glob_match(pattern, np, s) != !fnmatch(pattern, s, 0))
			fail_msg("'%s' against '%s' differs from fnmatch", pattern, s);
	}
}

static void numbers(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_int_equal(str_to_u64("42\n", 3, &v), 0);
	assert_int_equal(v, 42);
	assert_int_equal(str_to_u64("0x1F", 4, &v), 0);
	assert_int_equal(v, 31);
	assert_int_equal(str_to_u64("017", 3, &v), 0);
	assert_int_equal(v, 15);
	assert_int_equal(str_to_u64("18446744073709551615", 20, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(str_to_u64("18446744073709551616", 20, &v), -ERANGE);
	assert_int_equal(str_to_u64("", 0, &v), -EINVAL);
	assert_int_equal(str_to_u64("4 2", 3, &v), -EINVAL);
	assert_int_equal(str_to_u64("-1", 2, &v), -EINVAL);
	assert_int_equal(str_to_u64("08", 2, &v), -EINVAL);
}

/* What gcc 12 and clang 14 emit for -fpatchable-function-entry=5 and =6. */
static void nops_of_compilers(void **state)
{
	static const uint8_t gcc6[] = "\x90\x90\x90\x90\x90\x90\xc3";
	static const uint8_t clang5[] = "\x0f\x1f\x44\x00\x08\xc3";
	static const uint8_t clang6[] = "\x66\x0f\x1f\x44\x00\x08\xc3";
	static const uint8_t none[] = "\x55\x48\x89\xe5";
	static const uint8_t cut[] = "\x0f\x1f\x44";
	static const uint8_t not_nop[] = "\x0f\x1f\x4c\x00\x00";
	static const uint8_t endbr[] = "\xf3\x0f\x1e\xfa\x90";

	(void)state;
	assert_int_equal(arch_nop_bytes(gcc6, 7), 6);
	assert_int_equal(arch_nop_length(gcc6, 7), 1);
	assert_int_equal(arch_nop_bytes(clang5, 6), 5);
	assert_int_equal(arch_nop_length(clang5, 6), 5);
	assert_int_equal(arch_nop_bytes(clang6, 7), 6);
	assert_int_equal(arch_nop_bytes(none, 4), 0);
	assert_int_equal(arch_nop_bytes(cut, 3), 0);
	assert_int_equal(arch_nop_bytes(not_nop, 5), 0);
	assert_true(arch_is_marker(endbr, 5));
	assert_false(arch_is_marker(endbr, 3));
}

/* What gcc, clang and ld make of a call of __fentry__, and of the stub it leads to. */
static void calls_of_compilers(void **state)
{
	static const uint8_t direct[] = "\xe8\xfb\xff\xff\xff\x90";
	static const uint8_t relaxed[] = "\x67\xe8\x10\x00\x00\x00";
	static const uint8_t slot[] = "\xff\x15\x00\x10\x00\x00";
	static const uint8_t jump[] = "\xff\x25\x00\x10\x00\x00";
	static const uint8_t plt[16] = "\xff\x25\x08\x00\x00\x00";
	static const uint8_t plt_sec[16] = "\xf3\x0f\x1e\xfa\xf2\xff\x25\x08\x00\x00\x00";
	static const uint8_t plt_lazy[16] = "\xf3\x0f\x1e\xfa\x68\x00\x00\x00\x00";
	struct arch_call c;

	(void)state;
	assert_true(arch_read_call(direct, 6, &c));
	assert_true(c.bytes == 5 && !c.indirect && c.target == (uint64_t)direct);
	assert_true(arch_read_call(relaxed, 6, &c));
	assert_true(c.bytes == 6 && !c.indirect && c.target == (uint64_t)relaxed + 6 + 16);
	assert_true(arch_read_call(slot, 6, &c));
	assert_true(c.bytes == 6 && c.indirect && c.target == (uint64_t)slot + 6 + 4096);
	assert_false(arch_read_call(jump, 6, &c));
	assert_false(arch_read_call(direct, 4, &c));
	assert_false(arch_read_call(slot, 5, &c));
	assert_true(arch_stub_slot(plt) == (uint64_t)plt + 6 + 8);
	assert_true(arch_stub_slot(plt_sec) == (uint64_t)plt_sec + 11 + 8);
	assert_true(arch_stub_slot(plt_lazy) == 0);
}

static void made_nops_are_nops(void **state)
{
	uint32_t n;

	(void)state;
	for (n = 1; n <= 64; n++) {
		uint8_t bytes[66];

		memset(bytes, 0xcc, sizeof(bytes));
		arch_make_nops(bytes, n);
		assert_int_equal(arch_nop_bytes(bytes, sizeof(bytes)), n);
		assert_int_equal(bytes[n], 0xcc);
	}
}

/* Only what one store may change differs, and the displacement stays for a hook that is under way. */
static void forms_differ_in_front(void **state)
{
	uint8_t on[6], off[6];
	int jump;

	(void)state;
	for (jump = 0; jump < 2; jump++) {
		arch_make_site(on, 6, jump, 0x12345678);
		arch_make_off(off, on, 6);
		assert_memory_equal(on + 2, off + 2, 4);
		assert_memory_equal(on + 2, "\x78\x56\x34\x12", 4);
		assert_memory_not_equal(on, off, 2);
		arch_make_site(on, 5, jump, -2);
		arch_make_off(off, on, 5);
		assert_memory_equal(on + 1, off + 1, 4);
		assert_memory_equal(on + 1, "\xfe\xff\xff\xff", 4);
		assert_int_not_equal(on[0], off[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(glob_kernel_cases),
		cmocka_unit_test(glob_as_fnmatch),
		cmocka_unit_test(numbers),
		cmocka_unit_test(nops_of_compilers),
		cmocka_unit_test(calls_of_compilers),
		cmocka_unit_test(made_nops_are_nops),
		cmocka_unit_test(forms_differ_in_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
