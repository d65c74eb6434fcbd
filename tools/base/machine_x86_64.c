/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <errno.h>
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
