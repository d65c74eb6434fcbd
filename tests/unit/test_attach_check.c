/* SPDX-License-Identifier: MIT */
/*
 * Processes that cannot be attached to: files of programs that this machine may be unable to run,
 * cut ones, false headers, and the meaning of a refused ptrace() under each of Yama's modes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* before cmocka.h, which has a macro fail() */
#include "tools/base/fail.h"

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"

#define PID 4711

struct program {
	Elf64_Ehdr head;
	Elf64_Phdr p[2];
	char interp[64];
	struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[16];
	} notes[2];
};

static struct program usual(void)
{
	struct program f = {.head = {.e_ident = ELFMAG,
				     .e_phoff = offsetof(struct program, p),
				     .e_phentsize = sizeof(Elf64_Phdr),
				     .e_phnum = 2},
			    .p = {{.p_type = PT_INTERP,
				   .p_offset = offsetof(struct program, interp),
				   .p_filesz = 32},
				  {.p_type = PT_NOTE,
				   .p_offset = offsetof(struct program, notes),
				   .p_filesz = sizeof(f.notes)}},
			    .interp = "/lib64/ld-linux-x86-64.so.2",
			    .notes = {{{4, 16, 3}, "GNU", {0}}, {{4, 16, 1}, "GNU", {0}}}};

	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	return f;
}

/* Its first @bytes in a file. */
static int check(const struct program *f, size_t bytes)
{
	int fd = memfd_create("program", MFD_CLOEXEC), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f, bytes), bytes);
	err = attach_check_program(PID, fd);
	close(fd);
	return err;
}

static void refused(int err, int want, const char *why, const char *errno_text)
{
	assert_int_equal(err, -want);
	if (!strstr(fail_text(), why) || !strstr(fail_text(), errno_text))
		fail_msg("%s", fail_text());
	assert_null(strchr(fail_text(), '\n'));
}

static void programs(void **state)
{
	struct program f = usual();

	(void)state;
	assert_int_equal(check(&f, sizeof(f)), 0);
	f.notes[1].head.n_type = 4;
	memcpy(f.notes[1].name, "Go\0", 4);
	refused(check(&f, sizeof(f)), ENOTSUP, "uprobes", "Operation not supported");
	f.p[0].p_type = PT_NULL;
	refused(check(&f, sizeof(f)), ENOTSUP, "is a Go program", "Operation not supported");
	f.p[1].p_type = PT_NULL;
	refused(check(&f, sizeof(f)), ENOTSUP, "link libvestige.a into it", "not supported");
	f = usual();
	strcpy(f.interp, "/lib/ld-musl-x86_64.so.1");
	refused(check(&f, sizeof(f)), ENOTSUP, "/lib/ld-musl-x86_64.so.1", "not supported");
	f = usual();
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	refused(check(&f, sizeof(f)), ENOEXEC, "build the program for 64", "Exec format error");
	f.head.e_ident[0] = '#';
	refused(check(&f, sizeof(f)), ENOEXEC, "no ELF file", "Exec format error");
}

static void damaged(void **state)
{
	struct program f = usual();

	(void)state;
	for (size_t n = 0; n < sizeof(f); n++)
		check(&f, n);
	for (size_t at = 0; at < sizeof(f); at++)
		for (int bits = 1; bits < 256; bits = bits * 2 + 1) {
			f = usual();
			((uint8_t *)&f)[at] ^= (uint8_t)bits;
			check(&f, sizeof(f));
		}
}

static int explain(long yama, long me, long real, long effective, long saved)
{
	const struct attach_refusal r = {.pid = PID,
					 .yama = yama,
					 .me = me,
					 .real = real,
					 .effective = effective,
					 .saved = saved};

	return attach_explain(&r);
}

static void refusals(void **state)
{
	static const char text[] = "Operation not permitted";

	(void)state;
	for (long yama = 1; yama < 3; yama++)
		refused(explain(yama, 1000, 1000, 1000, 1000), EPERM,
			yama == 1 ? "kernel.yama.ptrace_scope is 1): attach as root"
				  : "kernel.yama.ptrace_scope is 2): attach as root",
			text);
	for (long me = 0; me <= 1000; me += 1000)
		refused(explain(3, me, 1000, 1000, 1000), EPERM, "for good", text);
	refused(explain(1, 1000, 33, 33, 33), EPERM, "another user's (33): attach as root", text);
	refused(explain(1, 1000, 1000, 0, 0), EPERM, "set-user-ID program", text);
	refused(explain(0, 1000, 1000, 1000, 0), EPERM, "set-user-ID program", text);
	refused(explain(0, 1000, 1000, 1000, 1000), EPERM, "not dumpable", text);
	refused(explain(2, 0, 1000, 1000, 1000), EPERM, "container forbids", text);
	refused(explain(-1, 1000, -1, -1, -1), EPERM, "attach as root", text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs),
		cmocka_unit_test(damaged),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
