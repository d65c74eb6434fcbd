/* SPDX-License-Identifier: MIT */
/*
 * Functions that touch the word of their own return address, against the rows of .eh_frame (libdw)
 * and another decoder (Zydis), over programs and libraries of this machine: each one is found, and
 * few that are none.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

#include "object/entries.h"
#include "object/x86_64/insn.h"
#include "object/x86_64/return_slot.h"

#define SP 7 /* numbers of DWARF's */
#define FP 6

static ZydisDecoder decoder;

static void *get(size_t bytes)
{
	return calloc(1, bytes);
}

static void put(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

/* The end of the frame at an instruction: a register's number and an offset. Return: 0 if so. */
static int cfa_at(Dwarf_CFI *cfi, uint64_t at, int64_t *offset)
{
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops;
	size_t n;
	int reg = -1;

	if (dwarf_cfi_addrframe(cfi, at, &frame))
		return -1;
	if (!dwarf_frame_cfa(frame, &ops, &n) && n == 1) {
		if (ops[0].atom == DW_OP_bregx) {
			reg = (int)ops[0].number;
			*offset = (int64_t)ops[0].number2;
		} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
			reg = ops[0].atom - DW_OP_breg0;
			*offset = (int64_t)ops[0].number;
		}
	}
	free(frame);
	return reg;
}

static int touches(Dwarf_CFI *cfi, uint64_t at, const uint8_t *p, size_t n)
{
	ZydisDecodedInstruction z;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	int64_t offset;
	int i;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, p, n, &z, op)) ||
	    z.mnemonic == ZYDIS_MNEMONIC_LEA || z.mnemonic == ZYDIS_MNEMONIC_NOP)
		return 0;
	for (i = 0; i < z.operand_count_visible; i++) {
		const ZydisDecodedOperandMem *m = &op[i].mem;
		int base;

		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || m->index != ZYDIS_REGISTER_NONE)
			continue;
		base = m->base == ZYDIS_REGISTER_RSP ? SP : m->base == ZYDIS_REGISTER_RBP ? FP : -2;
		if (base >= 0 && cfa_at(cfi, at, &offset) == base && m->disp.value == offset - 8)
			return 1;
	}
	return 0;
}

struct found {
	uint32_t functions, touched, missed, more;
};

static void see_function(struct found *f, struct entries *e, Dwarf_CFI *cfi, uint64_t lo,
			 uint64_t hi)
{
	struct return_slot slot;
	int by_rows = 0;
	uint64_t at, n;
	struct insn in;

	return_slot_begin(&slot);
	for (at = lo; at < hi; at += in.bytes) {
		const uint8_t *p = elf_image_at(&e->image, at, &n);

		n = n < hi - at ? n : hi - at;
		if (!p || !insn_decode(&in, p, n))
			break;
		return_slot_see(&slot, &in, p, (int64_t)(at - lo));
		by_rows = by_rows || touches(cfi, at, p, n);
	}
	f->functions++;
	f->touched += by_rows && slot.touched;
	f->more += !by_rows && slot.touched;
	if (by_rows && !slot.touched) {
		printf("  not found: 0x%llx\n", (unsigned long long)lo);
		f->missed++;
	}
}

static void see_file(struct found *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct entries e;
	struct stat st;
	Dwarf_CFI *cfi;
	uint8_t *file;
	uint32_t i;
	Elf *elf;

	if (fd < 0)
		return;
	assert_int_equal(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	assert_int_equal(entries_open(&e, file, (uint64_t)st.st_size, get, put), 0);
	assert_int_equal(entries_find_ways(&e), 0);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (i = 0; i < e.nr; i++) {
		uint64_t hi = e.functions[i].end;

		if (i + 1 < e.nr && e.functions[i + 1].at < hi)
			hi = e.functions[i + 1].at;
		if (!e.functions[i].is_part)
			see_function(f, &e, cfi, e.functions[i].at, hi);
	}
	dwarf_cfi_end(cfi);
	elf_end(elf);
	entries_close(&e);
	munmap(file, (size_t)st.st_size);
	close(fd);
}

static void is_found_where_the_rows_say(void **state)
{
	static const char *const files[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libgcc_s.so.1",
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		"/usr/bin/bash",
	};
	struct found f = {0};
	size_t i;

	(void)state;
	elf_version(EV_CURRENT);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++)
		see_file(&f, files[i]);
	printf("%u functions: %u touch it, %u not found, %u more\n", f.functions, f.touched,
	       f.missed, f.more);
	/* libgcc's unwinder, dlsym(), setjmp() ask who called */
	assert_true(f.touched >= 15);
	assert_int_equal(f.missed, 0);
	assert_true(f.more * 200 < f.functions);
}

static int sees(const uint8_t *code, size_t bytes)
{
	struct return_slot slot;
	struct insn in;
	size_t at;

	return_slot_begin(&slot);
	for (at = 0; at < bytes; at += in.bytes) {
		assert_int_not_equal(insn_decode(&in, code + at, bytes - at), 0);
		return_slot_see(&slot, &in, code + at, (int64_t)at);
	}
	return slot.touched;
}

#define SEES(code) sees((const uint8_t *)(code), sizeof(code) - 1)

static void forms(void **state)
{
	(void)state;
	assert_true(SEES("\x48\x8b\x04\x24\xc3"));			/* mov (%rsp),%rax */
	assert_false(SEES("\x53\x48\x8b\x04\x24\x5b\xc3"));		/* push; mov (%rsp) */
	assert_true(SEES("\x53\x48\x8b\x44\x24\x08\x5b\xc3"));		/* push; mov 8(%rsp) */
	assert_true(SEES("\x55\x48\x89\xe5\x48\x8b\x45\x08\xc9\xc3"));	/* frame; mov 8(%rbp) */
	assert_false(SEES("\x55\x48\x89\xe5\x48\x8b\x45\x10\xc9\xc3")); /* frame; mov 16(%rbp) */
	assert_true(SEES("\x48\x89\x04\x24\xc3"));			/* mov %rax,(%rsp) */
	assert_true(SEES("\x48\x89\xfc\xc3"));				/* mov %rdi,%rsp */
	assert_true(SEES("\x48\x8b\x67\x30\xff\x27"));			/* mov 48(%rdi),%rsp */
	assert_true(SEES("\x48\x94\xc3"));				/* xchg %rax,%rsp */
	assert_false(SEES("\x49\x89\xe4\x48\x83\xec\x18\x4c\x89\xe4\xc3")); /* kept and restored */
	/* sub $24; je over a return; mov 24(%rsp) behind it */
	assert_true(SEES("\x48\x83\xec\x18\x74\x05\x48\x83\xc4\x18\xc3\x48\x8b\x44\x24\x18\xc3"));
	/* the same word of a frame that is larger there */
	assert_false(SEES("\x48\x83\xec\x28\x74\x05\x48\x83\xc4\x28\xc3\x48\x8b\x44\x24\x18\xc3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_found_where_the_rows_say),
		cmocka_unit_test(forms),
	};

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
