/* SPDX-License-Identifier: MIT */
/*
 * signal_deliver by the program's handlers: while the event is on, each that is installed is replaced in
 * the kernel by a function of ours that makes the record and goes on to the handler, with the same flags
 * but for SA_SIGINFO, which is always set so that the kernel says what the signal was. sigaction(),
 * signal() and their like tell and take the program's own, as if nothing was there.
 *
 * What is replaced stays in a table from then on: a signal may be on its way to us when the event is
 * switched off. A handler that came past us (by a system call of the program's or libc's own) is not seen,
 * and is not touched when we leave. Ignored signals and those that end the process are not seen either.
 *
 * fork: kernel and table are the parent's in the child too. exec: the kernel forgets handlers.
 * Tests: tests/engine/events/signals.
 */
#include <errno.h>
#include <signal.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/area.h"
#include "engine/core/interpose.h"
#include "engine/events/signal_event.h"
#include "engine/events/signal_record.h"

#define REAL(row, type) ((__typeof__(type) *)(row).real)

/* As rt_sigaction() has it. */
struct action {
	uint64_t handler;
	uint64_t flags;
	uint64_t restorer;
	uint64_t mask;
};

/* The program's handlers by signal, as they were installed. */
static struct {
	uint64_t handler;
	uint64_t flags;
} own[NSIG];

typedef void handler_fn(int sig, siginfo_t *info, void *context);

static __attribute__((noinline)) void record(int sig, const siginfo_t *info, uint64_t handler)
{
	struct signal_deliver_record rec = {
		.sig = sig,
		.error = info->si_errno,
		.code = info->si_code,
		.handler = handler,
		.flags = load_relaxed(&own[sig].flags),
	};

	own_event_write(&signal_deliver_event, &rec, sizeof(rec));
}

/* What the kernel calls. The compiler makes the last call a jump: the handler has our place. */
static void deliver(int sig, siginfo_t *info, void *context)
{
	uint64_t handler = load_acquire(&own[sig].handler);

	if (own_event_is_on(&signal_deliver_event))
		record(sig, info, handler);
	((handler_fn *)handler)(sig, info, context);
}

static int is_handler(uint64_t handler)
{
	return handler != (uint64_t)SIG_DFL && handler != (uint64_t)SIG_IGN &&
	       handler != (uint64_t)SIG_ERR;
}

static int is_ours(uint64_t handler)
{
	return handler == (uint64_t)deliver;
}

static int get_action(int sig, struct action *a)
{
	return (int)arch_syscall(SYS_rt_sigaction, sig, 0, (long)a, 8, 0, 0);
}

static int set_action(int sig, const struct action *a)
{
	return (int)arch_syscall(SYS_rt_sigaction, sig, (long)a, 0, 8, 0, 0);
}

static int can_handle(int sig)
{
	return sig > 0 && sig < NSIG && sig != SIGKILL && sig != SIGSTOP;
}

/* The handler that the kernel has is the program's: ours from now on. */
static void replace(int sig)
{
	struct action a;

	if (get_action(sig, &a) || !is_handler(a.handler) || is_ours(a.handler))
		return;
	store_relaxed(&own[sig].flags, a.flags);
	store_release(&own[sig].handler, a.handler);
	a.handler = (uint64_t)deliver;
	a.flags |= SA_SIGINFO;
	set_action(sig, &a);
}

static void give_back(int sig)
{
	struct action a;

	if (get_action(sig, &a) || !is_ours(a.handler))
		return;
	a.handler = own[sig].handler;
	a.flags = (a.flags & ~(uint64_t)SA_SIGINFO) | (own[sig].flags & SA_SIGINFO);
	set_action(sig, &a);
}

static int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
static sighandler_t wrap_signal(int sig, sighandler_t handler);
static sighandler_t wrap_bsd_signal(int sig, sighandler_t handler);
static sighandler_t wrap_sysv_signal(int sig, sighandler_t handler);
static sighandler_t wrap_sigset(int sig, sighandler_t handler);

enum { SIGACTION, SIGNAL, BSD_SIGNAL, SYSV_SIGNAL, SIGSET };
static struct interposed calls[] = {
	[SIGACTION] = {.name = "sigaction", .wrapper = wrap_sigaction},
	[SIGNAL] = {.name = "signal", .wrapper = wrap_signal},
	[BSD_SIGNAL] = {.name = "bsd_signal", .wrapper = wrap_bsd_signal},
	[SYSV_SIGNAL] = {.name = "__sysv_signal", .wrapper = wrap_sysv_signal},
	[SIGSET] = {.name = "sigset", .wrapper = wrap_sigset},
};

static int seen; /* handlers are ours now */

/* Libc may install what it likes; then what the kernel has is replaced. @before: the program's until now. */
static int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	uint64_t before = can_handle(sig) ? load_acquire(&own[sig].handler) : 0;
	uint64_t flags = can_handle(sig) ? load_relaxed(&own[sig].flags) : 0;
	struct sigaction was;
	int ret = REAL(calls[SIGACTION],
		       int(int, const struct sigaction *, struct sigaction *))(sig, act, &was);

	if (ret)
		return ret;
	if (is_ours((uint64_t)was.sa_handler)) {
		was.sa_handler = (sighandler_t)before;
		was.sa_flags = (was.sa_flags & ~SA_SIGINFO) | ((int)flags & SA_SIGINFO);
	}
	if (old)
		*old = was;
	if (act && load_relaxed(&seen))
		replace(sig);
	return 0;
}

static sighandler_t by_signal(struct interposed *row, int sig, sighandler_t handler)
{
	uint64_t before = can_handle(sig) ? load_acquire(&own[sig].handler) : 0;
	sighandler_t old = REAL(*row, sighandler_t(int, sighandler_t))(sig, handler);

	if (old == SIG_ERR)
		return old;
	if (load_relaxed(&seen) && can_handle(sig))
		replace(sig);
	return is_ours((uint64_t)old) ? (sighandler_t)before : old;
}

static sighandler_t wrap_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[SIGNAL], sig, handler);
}

static sighandler_t wrap_bsd_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[BSD_SIGNAL], sig, handler);
}

static sighandler_t wrap_sysv_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[SYSV_SIGNAL], sig, handler);
}

static sighandler_t wrap_sigset(int sig, sighandler_t handler)
{
	return by_signal(&calls[SIGSET], sig, handler);
}

int signal_handlers_see(int on)
{
	int sig, err = 0;

	if (on)
		err = interpose_want(calls, ARRAY_SIZE(calls));
	if (err)
		return err;
	store_release(&seen, on);
	for (sig = 1; sig < NSIG; sig++) {
		if (!can_handle(sig))
			continue;
		if (on)
			replace(sig);
		else
			give_back(sig);
	}
	if (!on)
		interpose_drop(calls, ARRAY_SIZE(calls));
	return 0;
}
