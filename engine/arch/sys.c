/* SPDX-License-Identifier: MIT */
/*
 * See sys.h. Owns the variables that say which threads may make system calls for the engine;
 * core/sandbox.c sets them. fork: the child has its parent's filter and the same rights. Tests:
 * tests/engine/fire/sandbox.
 */
#include "engine/arch/sys.h"

#include "arch_regs.h"

__thread enum sys_rights sys_rights __attribute__((tls_model("initial-exec")));
uint32_t sys_nr_forbidden;
ptrdiff_t sys_tid_at;

int sys_own_tid(void)
{
	if (!sys_is_forbidden())
		return sys_gettid();
	return sys_tid_at ? load_relaxed((const int *)(arch_thread_pointer() + sys_tid_at)) : 0;
}
