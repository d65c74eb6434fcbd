/* SPDX-License-Identifier: MIT */
/*
 * The decoder of instructions against Zydis, over all code of libraries and programs of this
 * machine: lengths, what kind of branch, where it leads, and where it leads when it was moved. And
 * moved instructions are run.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "object/x86_64/insn.h"

static ZydisDecoder decoder;
static size_t nr_seen, nr_branches, nr_relative, nr_moved;

static int zydis(ZydisDecodedInstruction *z, ZydisDecodedOperand *operands, const uint8_t *p,
		 size_t n)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, p, n, z, operands));
}

/* The kind by Zydis' categories; INSN_OTHER where they have none. */
static int kind_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	int direct = z->operand_count && op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (z->mnemonic) {
	case ZYDIS_MNEMONIC_XABORT:
	case ZYDIS_MNEMONIC_XEND:
		return INSN_OTHER;
	case ZYDIS_MNEMONIC_XBEGIN:
		return INSN_TRANSACTION;
	case ZYDIS_MNEMONIC_INT3:
		return INSN_INT3;
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return INSN_TRAP;
	case ZYDIS_MNEMONIC_SYSCALL:
		return INSN_SYSCALL;
	case ZYDIS_MNEMONIC_ENDBR64:
		return INSN_ENDBR;
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE:
		return INSN_LOOP;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_IRETD:
		return INSN_RETURN;
	case ZYDIS_MNEMONIC_NOP:
		return z->opcode == 0x90 || z->opcode == 0x1f ? INSN_NOP : INSN_OTHER;
	default:
		break;
	}
	if (z->meta.category == ZYDIS_CATEGORY_CALL)
		return direct ? INSN_CALL : INSN_CALL_INDIRECT;
	if (z->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		return direct ? INSN_JUMP : INSN_JUMP_INDIRECT;
	return z->meta.category == ZYDIS_CATEGORY_COND_BR ? INSN_JUMP_IF : INSN_OTHER;
}

static int is_relative(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op)
{
	for (unsigned int i = 0; i < z->operand_count; i++)
		if (op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (op[i].mem.base == ZYDIS_REGISTER_RIP || op[i].mem.base == ZYDIS_REGISTER_EIP))
			return 1;
	return 0;
}

/* What the first operand that has an address leads to; 0: none has. */
static uint64_t leads_to(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *op,
			 uint64_t at)
{
	ZyanU64 to;

	for (unsigned int i = 0; i < z->operand_count_visible; i++)
		if ((op[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ||
		     op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(z, &op[i], at, &to)))
			return to;
	return 0;
}

/* What was moved from @from leads where it did. */
static void check_moved(const struct insn *in, const uint8_t *code, uint64_t from, uint64_t leads)
{
	uint8_t out[INSN_MAX_MOVED];
	uint64_t to = from + 0x12345678;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	int n = insn_move(in, code, from, to, out), at = 0, last = 0;

	if (n == -EOPNOTSUPP)
		return;
	assert_in_range(n, 1, INSN_MAX_MOVED);
	/* what leads somewhere is the last */
	while (at < n) {
		assert_true(zydis(&z, op, out + at, (size_t)(n - at)));
		last = at;
		at += z.length;
	}
	assert_int_equal(at, n);
	assert_int_equal(leads_to(&z, op, to + (uint64_t)last), leads);
	nr_moved++;
}

static void check_one(const uint8_t *p, size_t n, uint64_t at, const ZydisDecodedInstruction *z,
		      const ZydisDecodedOperand *op)
{
	struct insn in;
	uint32_t bytes = insn_decode(&in, p, n);
	int kind = kind_of(z, op);

	if (bytes != z->length || in.kind != kind || in.rip_relative != is_relative(z, op)) {
		fprintf(stderr, "at %#jx: %u bytes, kind %u, relative %u; Zydis: %s, %u, %d, %d:",
			(uintmax_t)at, bytes, in.kind, in.rip_relative,
			ZydisMnemonicGetString(z->mnemonic), z->length, kind, is_relative(z, op));
		for (unsigned int i = 0; i < z->length; i++)
			fprintf(stderr, " %02x", p[i]);
		fprintf(stderr, "\n");
		fail();
	}
	nr_seen++;
	if (insn_has_target(&in)) {
		assert_int_equal(at + (uint64_t)in.target, leads_to(z, op, at));
		nr_branches++;
	}
	nr_relative += in.rip_relative;
	if (insn_has_target(&in) || in.rip_relative)
		check_moved(&in, p, at, leads_to(z, op, at));
}

static void check_code(const uint8_t *p, size_t n, uint64_t at)
{
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction z;
	size_t i = 0;

	while (i < n) {
		if (!zydis(&z, op, p + i, n - i)) {
			i++;
			continue;
		}
		check_one(p + i, n - i, at + i, &z, op);
		i += z.length;
	}
}

static void check_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	const Elf64_Ehdr *e;
	const Elf64_Shdr *s;
	struct stat st;

	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	e = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(e != MAP_FAILED);
	close(fd);
	s = (const void *)((const uint8_t *)e + e->e_shoff);
	for (unsigned int i = 0; i < e->e_shnum; i++)
		if (s[i].sh_type == SHT_PROGBITS && s[i].sh_flags & SHF_EXECINSTR)
			check_code((const uint8_t *)e + s[i].sh_offset, s[i].sh_size, s[i].sh_addr);
	munmap((void *)(uintptr_t)e, (size_t)st.st_size);
}

static void all_of_real_code(void **state)
{
	(void)state;
	check_file("/lib/x86_64-linux-gnu/libc.so.6");
	check_file("/lib/x86_64-linux-gnu/libm.so.6");
	check_file("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
	check_file("/usr/bin/python3");
	check_file("/proc/self/exe");
	print_message("%zu instructions, %zu branches, %zu relative, %zu moved\n", nr_seen,
		      nr_branches, nr_relative, nr_moved);
	assert_true(nr_seen > 1000000);
	assert_true(nr_branches > 100000);
	assert_true(nr_moved > 100000);
}

/* Any bytes: where both know an instruction it is as long; where it is cut off there is none. */
static void any_bytes(void **state)
{
	static const uint8_t first[] = {0x66, 0x67, 0xf2, 0xf3, 0x48, 0x41, 0x0f, 0xc4, 0xc5, 0x62};
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	uint64_t x = 88172645463325252;
	size_t both = 0;

	(void)state;
	for (int i = 0; i < 2000000; i++) {
		uint8_t p[16];
		struct insn in;
		uint32_t n;

		for (int k = 0; k < 16; k += 8) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			memcpy(p + k, &x, 8);
		}
		for (int k = 0; k < (int)(x >> 60 & 3); k++)
			p[k] = first[(x >> (4 * k)) % sizeof(first)];
		n = insn_decode(&in, p, 15);
		assert_true(n <= 15);
		if (!n)
			continue;
		assert_int_equal(insn_decode(&in, p, n - 1), 0);
		/* of one old coprocessor */
		if (!zydis(&z, op, p, 15) || (z.meta.isa_set >= ZYDIS_ISA_SET_KNCE &&
					      z.meta.isa_set <= ZYDIS_ISA_SET_KNC_PF_HINT))
			continue;
		both++;
		if (n != z.length)
			check_one(p, 15, 0, &z, op);
	}
	assert_true(both > 200000);
}

#define NR_PAGES 2u

/* Code at the first page's middle, moved to the second one. */
struct place {
	uint8_t *from, *to;
};

static struct place place(void)
{
	uint8_t *p = mmap(NULL, NR_PAGES * 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	return (struct place){p + 2048, p + 4096};
}

static int move(struct place w, const void *code, size_t n)
{
	struct insn in;
	int moved;

	memcpy(w.from, code, n);
	assert_int_equal(insn_decode(&in, w.from, n), n);
	moved = insn_move(&in, w.from, (uint64_t)w.from, (uint64_t)w.to, w.to);
	return moved;
}

static uint64_t run(const uint8_t *at, uint64_t di)
{
	uint64_t (*f)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)at;

	return f(di);
}

/* `call rel32; ret`: the callee sees the return address behind the original. */
static void a_call_returns_to_the_original(void **state)
{
	struct place w = place();

	(void)state;
	/* 2048 + 5 + 11: mov (%rsp), %rax; ret */
	assert_true(move(w, "\xe8\x0b\x00\x00\x00", 5) > 0);
	memcpy(w.from + 5, "\xc3", 1);
	memcpy(w.from + 16, "\x48\x8b\x04\x24\xc3", 5);
	assert_int_equal(run(w.to, 0), (uint64_t)w.from + 5);
	/* call *8(%rip) */
	assert_true(move(w, "\xff\x15\x08\x00\x00\x00", 6) > 0);
	memcpy(w.from + 6, "\xc3", 1);
	*(uint64_t *)(w.from + 14) = (uint64_t)w.from + 32;
	memcpy(w.from + 32, "\x48\x8b\x04\x24\xc3", 5);
	assert_int_equal(run(w.to, 0), (uint64_t)w.from + 6);
	/* call *%rdi; call *8(%rsp) */
	assert_true(move(w, "\xff\xd7", 2) > 0);
	memcpy(w.from + 2, "\xc3", 1);
	assert_int_equal(run(w.to, (uint64_t)w.from + 32), (uint64_t)w.from + 2);
	assert_int_equal(move(w, "\xff\x54\x24\x08", 4), -EOPNOTSUPP);
	munmap(w.from - 2048, NR_PAGES * 4096);
}

/*
 * jrcxz and jne, taken and not; what is behind the moved one is as if it stood behind the original.
 */
static void branches_go_both_ways(void **state)
{
	struct place w = place();
	int n;

	(void)state;
	/* at the target: mov $7, %eax; ret. Behind: mov $5, %eax; ret */
	n = move(w, "\xe3\x20", 2);
	memcpy(w.from + 0x22, "\xb8\x07\x00\x00\x00\xc3", 6);
	assert_true(n > 0);
	memcpy(w.to + n, "\xb8\x05\x00\x00\x00\xc3", 6);
	memcpy(w.to + 64, "\x48\x89\xf9\xeb\xbb", 5); /* mov %rdi, %rcx; jmp back to it */
	assert_int_equal(run(w.to + 64, 0), 7);
	assert_int_equal(run(w.to + 64, 1), 5);
	n = move(w, "\x75\x20", 2);
	assert_true(n > 0);
	memcpy(w.to + n, "\xb8\x05\x00\x00\x00\xc3", 6);
	memcpy(w.to + 64, "\x48\x85\xff\xeb\xbb", 5); /* test %rdi, %rdi */
	assert_int_equal(run(w.to + 64, 1), 7);
	assert_int_equal(run(w.to + 64, 0), 5);
	munmap(w.from - 2048, NR_PAGES * 4096);
}

static void what_cannot_be_moved(void **state)
{
	uint8_t out[INSN_MAX_MOVED];
	struct insn in;

	(void)state;
	static const struct {
		const char *code;
		uint32_t bytes;
		uint64_t to;
		int err;
	} cases[] = {
		{"\xcc", 1, 0x1000, -EOPNOTSUPP},
		{"\x0f\x05", 2, 0x1000, -EOPNOTSUPP},
		{"\x0f\x0b", 2, 0x1000, -EOPNOTSUPP},
		{"\xc7\xf8\0\0\0\0", 6, 0x1000, -EOPNOTSUPP},
		{"\x67\x8b\x05\0\0\0\0", 7, 0x1000, -EOPNOTSUPP},
		{"\x8b\x05\0\0\0\0", 6, UINT64_C(0x200000000), -ERANGE},
		{"\x8b\x05\0\0\0\0", 6, 0x1000, 6},
		{"\xeb\x10", 2, UINT64_C(0x200000000), -ERANGE},
		{"\xe8\0\0\0\0", 5, UINT64_C(0x200000000), -ERANGE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *code = (const uint8_t *)cases[i].code;

		assert_int_equal(insn_decode(&in, code, cases[i].bytes), cases[i].bytes);
		assert_int_equal(insn_move(&in, code, 0x2000, cases[i].to, out), cases[i].err);
	}
	/* 16 bits of a displacement: vendors differ */
	assert_int_equal(insn_decode(&in, (const uint8_t *)"\x66\xe9\0\0\0\0", 6), 0);
	assert_int_equal(insn_decode(&in, (const uint8_t *)"\x66\x48\xe8\0\0\0\0", 7), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_real_code),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(a_call_returns_to_the_original),
		cmocka_unit_test(branches_go_both_ways),
		cmocka_unit_test(what_cannot_be_moved),
	};

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
