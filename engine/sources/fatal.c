/* SPDX-License-Identifier: MIT */
/*
 * See fatal.h. The handler continues on a stack of its own, with a copy of what the kernel put on
 * the thread's stack (arch_signal_copy()). So the program's own signal stack may be small, and a
 * fault in the reporter cannot overwrite it.
 *
 * Then the process dies as it would have died without the engine. A fault happens again with the
 * default action set, so that a core has the registers of the faulting instruction. Another signal
 * is queued again for its thread with its siginfo. In a thread that may make no system call, the
 * fault happens again while its signal is blocked, and then the kernel ends the process by that
 * signal.
 *
 * fork: the child has the same handlers. Nothing is allocated in the handler. Tests:
 * tests/engine/fire/crash.
 */
#include "engine/sources/fatal.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_context.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/core/interpose.h"
#include "engine/sources/signal.h"

#define STACK_BYTES (512u * 1024)
#define GUARD_BYTES 4096u
#define COPY_BYTES  (128u * 1024) /* the part of it for what the kernel puts on the stack */
#define WAIT_NS	    10000000
#define MAX_WAITS   2000u /* 20 s for another thread's report, which ends the process */

#define BIT(sig) (UINT64_C(1) << (sig))
#define FATAL                                                                                      \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP) | BIT(SIGABRT) |    \
	 BIT(SIGSYS))

static fatal_report *reporter;
static uint8_t *stack;
static int owner;	      /* thread that reports; 0: no thread does */
static uint64_t guard;	      /* of fatal_guarded(), called by the owner */
static uint32_t muted_before; /* value before the guarded call */

static int own_tid(void)
{
	int tid = sys_own_tid();

	return tid ? tid : -1;
}

/* Whether the signal is a fault: its instruction causes it again when it runs again. */
static int is_fault(int sig, const siginfo_t *info)
{
	return info->si_code > 0 &&
	       (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL) &&
	       !(sig == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

static void block(void *context, int sig)
{
	*(uint64_t *)&((ucontext_t *)context)->uc_sigmask |= BIT(sig) >> 1;
}

/* Prepare the death: the process dies when the handler has returned. */
static void die(int sig, siginfo_t *info, void *context)
{
	const uint64_t by_default[4] = {0};

	if (sys_is_forbidden()) {
		block(context, sig);
		return;
	}
	arch_syscall(SYS_rt_sigaction, sig, (long)by_default, 0, 8, 0, 0);
	if (is_fault(sig, info))
		return;
	/* the signal comes when the handler has returned */
	sys_put_off_signals(BIT(sig) >> 1);
	arch_syscall(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), sig, (long)info, 0, 0);
}

/* The rest of the handler, on the engine's own stack. Its return ends the signal. */
static void on_own_stack(int sig, siginfo_t *info, void *context)
{
	const uint64_t ip = *arch_context_ip(context), sp = *arch_context_sp(context);

	reporter(sig, info, context, 1);
	*arch_context_ip(context) = ip;
	*arch_context_sp(context) = sp;
	die(sig, info, context);
}

static void wait_for_owner(void)
{
	uint32_t i;

	for (i = 0; i < MAX_WAITS; i++) {
		if (!sys_is_forbidden())
			sys_sleep_ns(WAIT_NS);
		else
			for (uint32_t k = 0; k < 1000000; k++)
				arch_relax();
	}
}

static void handler(int sig, siginfo_t *info, void *context)
{
	const int tid = own_tid();
	siginfo_t *info_copy = info;
	void *context_copy = context;
	uint64_t frame;

	if (load_acquire(&owner) == tid && guard) {
		interpose_mutes = muted_before;
		arch_guard_leave(&guard, context);
		return;
	}
	if (!compare_and_store(&owner, 0, tid)) {
		if (load_relaxed(&owner) != tid)
			wait_for_owner();
		die(sig, info, context);
		return;
	}
	frame = arch_signal_copy((uint64_t)stack + GUARD_BYTES + STACK_BYTES, COPY_BYTES,
				 &info_copy, &context_copy);
	if (frame)
		arch_signal_run(frame, on_own_stack, sig, info_copy, context_copy);
	reporter(sig, info, context, 0);
	die(sig, info, context);
}

int fatal_guarded(void (*fn)(void *), void *arg)
{
	if (load_acquire(&owner) != own_tid()) {
		fn(arg);
		return 0;
	}
	muted_before = interpose_mutes;
	return arch_guarded(&guard, fn, arg);
}

int fatal_start(fatal_report *report)
{
	if (!stack) {
		stack = sys_map_table(GUARD_BYTES + STACK_BYTES);
		if (!stack)
			return -ENOMEM;
		sys_mprotect(stack, GUARD_BYTES, PROT_NONE);
		/* back the memory now, as there may be no free memory later */
		sys_back(stack + GUARD_BYTES, STACK_BYTES);
	}
	store_release(&reporter, report);
	return signals_fatal(handler, FATAL);
}

void fatal_stop(void)
{
	signals_fatal(NULL, 0);
}

static void fork_fatal(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		owner = 0;
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_fatal, NULL);
