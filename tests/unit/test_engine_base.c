/* SPDX-License-Identifier: MIT */
/*
 * The engine's own glob, numbers and site encodings; libc's fnmatch() and strtoull() are oracles.
 */
#include <errno.h>
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arch_late.h"
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

/*
 * Only what one store may change differs, and the displacement stays for a hook that is under way.
 */
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

/* Runs the code at @at, which ends in a ret. Return: whether all registers are as before. */
static int does_nothing(const uint8_t *at)
{
	static const uint64_t before[10] = {0x1122334455667788, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	uint64_t r[11];

	memcpy(r, before, sizeof(before));
	r[10] = (uint64_t)at;
	__asm__ volatile("subq $128, %%rsp; pushq %%rbx; movq %0, %%rbx\n"
			 "movq (%%rbx), %%rax; movq 8(%%rbx), %%rcx; movq 16(%%rbx), %%rdx\n"
			 "movq 24(%%rbx), %%rsi; movq 32(%%rbx), %%rdi; movq 40(%%rbx), %%r8\n"
			 "movq 48(%%rbx), %%r9; movq 56(%%rbx), %%r10; movq 64(%%rbx), %%r11\n"
			 "movq 72(%%rbx), %%r12; call *80(%%rbx)\n"
			 "movq %%rax, (%%rbx); movq %%rcx, 8(%%rbx); movq %%rdx, 16(%%rbx)\n"
			 "movq %%rsi, 24(%%rbx); movq %%rdi, 32(%%rbx); movq %%r8, 40(%%rbx)\n"
			 "movq %%r9, 48(%%rbx); movq %%r10, 56(%%rbx); movq %%r11, 64(%%rbx)\n"
			 "movq %%r12, 72(%%rbx); popq %%rbx; addq $128, %%rsp"
			 :
			 : "r"(r)
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
			   "memory", "cc");
	return !memcmp(r, before, sizeof(before));
}

/* NOPs of compilers, and a bit for each offset at which a thread may be among them. */
static const struct {
	const char *bytes;
	uint32_t n, starts;
} late_nops[] = {
	{"\x90\x90\x90\x90\x90", 5, 0x1f},
	{"\x90\x90\x90\x90\x90\x90", 6, 0x3f},
	{"\x90\x90\x90\x90\x90\x90\x90\x90\x90", 9, 0x1ff},
	{"\x66\x90\x66\x90\x66\x90", 6, 0x15},
	{"\x0f\x1f\x44\x00\x08", 5, 1},
	{"\x66\x0f\x1f\x44\x00\x08", 6, 1},
	{"\x0f\x1f\x80\x00\x02\x00\x00", 7, 1},
	{"\x0f\x1f\x84\x00\x00\x02\x00\x00", 8, 1},
	{"\x66\x0f\x1f\x84\x00\x00\x02\x00\x00", 9, 1},
	{"\x66\x2e\x0f\x1f\x84\x00\x00\x02\x00\x00", 10, 1},
};

/*
 * The bytes of a function while its site is changed, in each mixture of old and new: all do
 * nothing.
 */
static void try_mixtures(uint8_t *code, const uint8_t *old, const uint8_t *new, uint32_t n,
			 uint32_t starts, uint32_t skip)
{
	uint32_t mixture, i;

	for (mixture = 0; mixture < 1u << n; mixture++) {
		for (i = 0; i < n; i++)
			code[i] = mixture >> i & 1 ? new[i] : old[i];
		for (i = 0; i < n; i++)
			/* a thread may also be behind prefixes that have become NOPs */
			if ((starts >> i & 1 ||
			     (i <= skip && (mixture & ((1u << i) - 1)) == (1u << i) - 1)) &&
			    !does_nothing(code + i))
				fail_msg("mixture %x of %u bytes does something from byte %u on",
					 mixture, n, i);
	}
}

static void late_sites_do_nothing(void **state)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t k, try, i;

	(void)state;
	assert_true(code != MAP_FAILED);
	for (k = 0; k < sizeof(late_nops) / sizeof(late_nops[0]); k++) {
		const uint8_t *old = (const uint8_t *)late_nops[k].bytes;
		uint32_t n = late_nops[k].n;
		struct arch_late late;
		uint64_t end, to;

		assert_true(arch_late_read(old, n, &late));
		end = (uint64_t)code + late.skip + ARCH_LATE_BYTES;
		/* what follows: code that a prefix would make another */
		memcpy(code + n, "\x48\x89\xc0\xc3", 4);
		for (try = 0; try < 24; try++) {
			uint64_t from = end - 0x7fff0000 + (uint64_t)try * 0x0a123457;
			uint8_t new[16], on[ARCH_LATE_BYTES];

			to = arch_late_next(&late, end, from, from + 0x40000000);
			if (!to)
				continue;
			assert_true(to >= from && to <= from + 0x40000000);
			memcpy(new, old, n);
			for (i = 0; i < late.skip; i++)
				new[i] = 0x90;
			arch_late_make(late.off, (int32_t)(to - end), 0, on, new + late.skip);
			assert_memory_equal(on + 1, new + late.skip + 1, 4);
			memcpy(new + late.skip + ARCH_LATE_BYTES, late.tail, late.nr_tail);
			try_mixtures(code, old, new, n, late_nops[k].starts, late.skip);
			/*
			 * behind a call one comes to what is behind the site, where there is a NOP,
			 * or nothing
			 */
			for (i = 0; i < n; i++)
				code[i] = new[i];
			assert_true(does_nothing((const uint8_t *)end));
			/* a thread may come to each byte of a displacement of one-byte NOPs */
			for (i = 1; i < ARCH_LATE_BYTES && !late.fixed; i++)
				assert_true(does_nothing(code + i));
		}
	}
	munmap(code, 4096);
}

/* The next address is the next one that each byte allows. */
static void late_addresses_are_the_next(void **state)
{
	static const uint64_t end = 0x555555555123;
	unsigned int seed = 1, k, i;

	(void)state;
	for (k = 0; k < 200; k++) {
		uint32_t which =
			(uint32_t)rand_r(&seed) % (sizeof(late_nops) / sizeof(late_nops[0]));
		int64_t disp = ((int64_t)rand_r(&seed) << 1) - 0x80000000ll;
		uint64_t from = end + (uint64_t)disp, at;
		struct arch_late late;

		assert_true(arch_late_read((const uint8_t *)late_nops[which].bytes,
					   late_nops[which].n, &late));
		if (disp >= 0x7fff0000)
			continue;
		for (at = from; at < from + 0xffff; at++) {
			for (i = 0; i < 4; i++)
				if (!arch_late_byte(&late, i, (uint8_t)((at - end) >> (8 * i))))
					break;
			if (i == 4)
				break;
		}
		assert_true(arch_late_next(&late, end, from, from + 0xfffe) ==
			    (at == from + 0xffff ? 0 : at));
	}
}

static void late_sites_of_others(void **state)
{
	struct arch_late late;

	(void)state;
	assert_false(arch_late_read((const uint8_t *)"\x90\x90\x90\x90", 4, &late));
	assert_false(arch_late_read((const uint8_t *)"\x0f\x1f\x40\x00\x90", 5, &late));
	assert_false(arch_late_read((const uint8_t *)"\x0f\x1f\x80\x00\x00\x00", 6, &late));
	assert_false(arch_late_read((const uint8_t *)"\x55\x48\x89\xe5\x90\x90", 6, &late));
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
		cmocka_unit_test(late_sites_do_nothing),
		cmocka_unit_test(late_addresses_are_the_next),
		cmocka_unit_test(late_sites_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
