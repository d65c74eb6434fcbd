/* SPDX-License-Identifier: MIT */
/*
 * See sys.h. Owns the variables that say which threads may make system calls for the engine;
 * core/sandbox.c sets them. And the function that reads the machine's clocks; process/clock.c sets
 * it. fork: the child has its parent's filter, rights and vDSO. Tests: tests/engine/fire/sandbox,
 * tests/cli/test_own_clock.py.
 */
#include "engine/arch/sys.h"

#include "arch_regs.h"

__thread enum sys_rights sys_rights __attribute__((tls_model("initial-exec")));
uint32_t sys_nr_forbidden;
ptrdiff_t sys_tid_at;

static int clock_by_call(clockid_t clock, struct timespec *time)
{
	*time = (struct timespec){0};
	return (int)arch_syscall(SYS_clock_gettime, clock, (long)time, 0, 0, 0, 0);
}

int (*sys_clock)(clockid_t clock, struct timespec *time) = clock_by_call;

void sys_use_clock(int (*read)(clockid_t clock, struct timespec *time))
{
	if (read)
		sys_clock = read;
}

int sys_own_tid(void)
{
	if (!sys_is_forbidden())
		return sys_gettid();
	return sys_tid_at ? load_relaxed((const int *)(arch_thread_pointer() + sys_tid_at)) : 0;
}
