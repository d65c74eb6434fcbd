/* SPDX-License-Identifier: MIT */
/*
 * _exit() and _Exit(), which run no destructor: shells end by them, and so does each child whose
 * exec failed. Any context: both may be called in signal handlers and in a vfork's child. In
 * libvestige.so alone: in a static program exit() itself ends by them. Tests:
 * tests/engine/fire/leftovers.
 */
#include <stdlib.h>
#include <unistd.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/control/boot.h"
#include "engine/process/libc.h"

typedef void exit_fn(int);
static exit_fn *real[2];

/* Looks up libc's functions ahead of time, as a handler must not. */
__attribute__((constructor(101))) static void find_real(void)
{
	real[0] = (exit_fn *)libc_next("_exit");
	real[1] = (exit_fn *)libc_next("_Exit");
}

static __attribute__((noreturn)) void leave(exit_fn *libcs, int status)
{
	control_leave();
	if (libcs)
		libcs(status);
	for (;;)
		arch_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

VESTIGE_INTERPOSED void _exit(int status)
{
	leave(real[0], status);
}

VESTIGE_INTERPOSED void _Exit(int status)
{
	leave(real[1], status);
}
