/* SPDX-License-Identifier: MIT */
#include "tools/base/machine.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

bool machine_has_counter(void)
{
	return true;
}

uint64_t machine_counter(void)
{
	return __builtin_ia32_rdtsc();
}

size_t machine_breakpoint(const unsigned char **bytes)
{
	static const unsigned char int3 = 0xcc;

	*bytes = &int3;
	return 1;
}

uint64_t machine_pc_get(pid_t pid)
{
	long v;

	errno = 0;
	v = ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rip), NULL);
	return errno ? 0 : (uint64_t)v;
}

int machine_pc_set(pid_t pid, uint64_t pc)
{
	return (int)ptrace(PTRACE_POKEUSER, pid, offsetof(struct user_regs_struct, rip), pc);
}

#define REG(name, field)                                                                           \
	{                                                                                          \
		name, offsetof(struct user_regs_struct, field)                                     \
	}

const char *machine_core_register(const void *regs, unsigned int i, uint64_t *value)
{
	static const struct {
		const char *name;
		size_t at;
	} rows[] = {
		REG("RIP", rip), REG("RSP", rsp), REG("EFLAGS", eflags), REG("RAX", rax),
		REG("RBX", rbx), REG("RCX", rcx), REG("RDX", rdx),	 REG("RSI", rsi),
		REG("RDI", rdi), REG("RBP", rbp), REG("R08", r8),	 REG("R09", r9),
		REG("R10", r10), REG("R11", r11), REG("R12", r12),	 REG("R13", r13),
		REG("R14", r14), REG("R15", r15),
	};

	if (i >= sizeof(rows) / sizeof(*rows))
		return NULL;
	memcpy(value, (const char *)regs + rows[i].at, sizeof(*value));
	return rows[i].name;
}
