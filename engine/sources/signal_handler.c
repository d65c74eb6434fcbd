/* SPDX-License-Identifier: MIT */
/*
 * The program's handlers. While there is a listener, each installed handler is replaced in the
 * kernel by a function of ours that calls the listeners and then the handler. It has the same
 * flags, and always SA_SIGINFO, so that the kernel passes the siginfo. sigaction(), signal() and
 * their kind return and accept the program's own handlers, as if nothing was replaced.
 *
 * Replaced handlers stay in a table from then on: a signal may be on its way to our function when
 * the last listener has left. A handler that the program or libc installed by a system call of its
 * own is not seen, and is not touched when the last listener leaves. Ignored signals are not seen
 * either. While signals_fatal() has a handler, signals that end the process lead to it; the program
 * then sees SIG_DFL, and its own flags and mask.
 *
 * A signal that signals_take() has is the engine's own: the program's action for it is kept here,
 * and is set in the kernel again afterwards. If two threads set the action at the same time, the
 * result may be one's handler with the other's flags, as there is no lock.
 *
 * fork: the child has its parent's handlers and table. exec: the kernel resets handlers.
 * Tests: tests/engine/events/signals.
 */
#include "engine/sources/signal.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/process/area.h"
#include "engine/core/interpose.h"

/* The program's handlers by signal, as they were installed. */
static struct {
	uint64_t handler;
	uint64_t flags;
} own[NSIG];

/* The same for signals that end the process, where signals_fatal() has set a handler. */
static struct {
	int flags;
	sigset_t mask;
} own_default[NSIG] BIG_ZEROS;
/* NULL: signals_fatal() was never called */
static void (*fatal)(int sig, siginfo_t *info, void *context);
static uint64_t fatal_signals; /* a bit for each signal; 0: none now */

/* The signals that signals_take() has, with the program's action for each. */
static struct taken {
	int sig; /* 0: a free row */
	struct sigaction program;
} takens[2];
static int libc_flags; /* flags that libc adds to each action: SA_RESTORER on most CPUs */

#define BIT(sig) (UINT64_C(1) << (sig))
#define FAULTS	 (BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) | BIT(SIGTRAP))

typedef void handler_fn(int sig, siginfo_t *info, void *context);

static __attribute__((noinline)) void notify(int sig, const siginfo_t *info, uint64_t handler)
{
	SOURCE_NOTIFY(struct signal_handler_listener, load_acquire(&signal_handlers.first), sig,
		      info, handler, load_relaxed(&own[sig].flags));
}

/*
 * While there is a listener to handler_frames: the handler is called, not jumped to, so that its
 * end is seen.
 */
static __attribute__((noinline)) void deliver_between(int sig, siginfo_t *info, void *context,
						      uint64_t handler)
{
	struct handler_frame f = {.handler = handler, .context = context};

	SOURCE_NOTIFY(struct handler_frame_listener, load_acquire(&handler_frames.first), &f, 1);
	((handler_fn *)handler)(sig, info, context);
	SOURCE_NOTIFY(struct handler_frame_listener, load_acquire(&handler_frames.first), &f, 0);
}

/*
 * The kernel calls this. The compiler makes the last call a jump, so the handler runs in place of
 * this function.
 */
static void deliver(int sig, siginfo_t *info, void *context)
{
	uint64_t handler = load_acquire(&own[sig].handler);

	if (load_relaxed(&signal_handlers.first))
		notify(sig, info, handler);
	if (load_relaxed(&handler_frames.first)) {
		deliver_between(sig, info, context, handler);
		return;
	}
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

static int is_fatal(uint64_t handler)
{
	return fatal && handler == (uint64_t)fatal;
}

/* The row of a signal that signals_take() has; NULL: the signal is the program's. */
static struct taken *find_taken(int sig)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(takens); i++)
		if (sig && load_acquire(&takens[i].sig) == sig)
			return &takens[i];
	return NULL;
}

static int can_handle(int sig)
{
	return sig > 0 && sig < NSIG && sig != SIGKILL && sig != SIGSTOP;
}

/*
 * Install the handler of fatal signals, through libc's function, which adds the code that handlers
 * return to and that unwinders know. Faults in the handler are delivered too; all other signals
 * wait.
 */
static void make_fatal(int sig)
{
	struct sigaction a = {.sa_sigaction = fatal,
			      .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	struct sigaction was;

	if (sigaction(sig, NULL, &was) || was.sa_handler != SIG_DFL)
		return;
	own_default[sig].flags = was.sa_flags;
	own_default[sig].mask = was.sa_mask;
	/* the mask is longer than the kernel's: the kernel's part is the first word */
	*(uint64_t *)&a.sa_mask = ~((BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGFPE) | BIT(SIGILL) |
				     BIT(SIGTRAP) | BIT(SIGABRT)) >>
				    1);
	sigaction(sig, &a, NULL);
}

static void make_default(int sig)
{
	struct sigaction a = {.sa_handler = SIG_DFL}, was;

	if (sigaction(sig, NULL, &was) || !is_fatal((uint64_t)was.sa_handler))
		return;
	a.sa_flags = own_default[sig].flags;
	a.sa_mask = own_default[sig].mask;
	sigaction(sig, &a, NULL);
}

static int seen; /* handlers are replaced now */

/* Replace the program's handler in the kernel by ours. */
static void replace(int sig)
{
	struct sys_action a;

	if (find_taken(sig) || sys_get_action(sig, &a) || is_ours(a.handler) || is_fatal(a.handler))
		return;
	if (a.handler == (uint64_t)SIG_DFL && load_relaxed(&fatal_signals) >> sig & 1)
		make_fatal(sig);
	if (!is_handler(a.handler) || !load_relaxed(&seen))
		return;
	store_relaxed(&own[sig].flags, a.flags);
	store_release(&own[sig].handler, a.handler);
	a.handler = (uint64_t)deliver;
	a.flags |= SA_SIGINFO;
	sys_set_action(sig, &a);
}

static void give_back(int sig)
{
	struct sys_action a;

	if (sys_get_action(sig, &a) || !is_ours(a.handler))
		return;
	a.handler = own[sig].handler;
	a.flags = (a.flags & ~(uint64_t)SA_SIGINFO) | (own[sig].flags & SA_SIGINFO);
	sys_set_action(sig, &a);
}

static int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
static sighandler_t wrap_signal(int sig, sighandler_t handler);
static sighandler_t wrap_bsd_signal(int sig, sighandler_t handler);
static sighandler_t wrap_sysv_signal(int sig, sighandler_t handler);
static sighandler_t wrap_sigset(int sig, sighandler_t handler);

enum { SIGACTION, SIGNAL, BSD_SIGNAL, SYSV_SIGNAL, SIGSET };
static struct interposed calls[] = {
	INTERPOSED(SIGACTION, "sigaction", wrap_sigaction),
	INTERPOSED(SIGNAL, "signal", wrap_signal),
	INTERPOSED(BSD_SIGNAL, "bsd_signal", wrap_bsd_signal),
	INTERPOSED(SYSV_SIGNAL, "__sysv_signal", wrap_sysv_signal),
	INTERPOSED(SIGSET, "sigset", wrap_sigset),
};

static int taken_action(struct taken *t, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction was = t->program;

	if (act) {
		t->program = *act;
		t->program.sa_flags |= libc_flags;
	}
	if (old)
		*old = was;
	return 0;
}

static sighandler_t taken_handler(struct taken *t, sighandler_t handler, int flags)
{
	sighandler_t was = t->program.sa_handler;

	t->program = (struct sigaction){.sa_handler = handler, .sa_flags = flags | libc_flags};
	return was;
}

/*
 * Let libc install the action with its own return code; then replace the action in the kernel.
 * @before: the program's action until now.
 */
static int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	uint64_t before = can_handle(sig) ? load_acquire(&own[sig].handler) : 0;
	uint64_t flags = can_handle(sig) ? load_relaxed(&own[sig].flags) : 0;
	struct taken *t = find_taken(sig);
	struct sigaction was;
	int ret;

	if (t)
		return taken_action(t, act, old);
	ret = INTERPOSE_REAL(calls[SIGACTION], int(int, const struct sigaction *,
						   struct sigaction *))(sig, act, &was);
	if (ret)
		return ret;
	if (is_ours((uint64_t)was.sa_handler)) {
		was.sa_handler = (sighandler_t)before;
		was.sa_flags = (was.sa_flags & ~SA_SIGINFO) | ((int)flags & SA_SIGINFO);
	} else if (is_fatal((uint64_t)was.sa_handler)) {
		was.sa_handler = SIG_DFL;
		was.sa_flags = own_default[sig].flags;
		was.sa_mask = own_default[sig].mask;
	}
	if (old)
		*old = was;
	if (act)
		replace(sig);
	return 0;
}

/* @flags: the flags that this libc function sets for a handler. */
static sighandler_t by_signal(struct interposed *row, int sig, sighandler_t handler, int flags)
{
	uint64_t before = can_handle(sig) ? load_acquire(&own[sig].handler) : 0;
	struct taken *t = find_taken(sig);
	sighandler_t old;

	if (t && handler != SIG_ERR && handler != SIG_HOLD)
		return taken_handler(t, handler, flags);
	old = INTERPOSE_REAL(*row, sighandler_t(int, sighandler_t))(sig, handler);
	if (old == SIG_ERR)
		return old;
	if (can_handle(sig))
		replace(sig);
	if (is_fatal((uint64_t)old))
		return SIG_DFL;
	return is_ours((uint64_t)old) ? (sighandler_t)before : old;
}

static sighandler_t wrap_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[SIGNAL], sig, handler, SA_RESTART);
}

static sighandler_t wrap_bsd_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[BSD_SIGNAL], sig, handler, SA_RESTART);
}

static sighandler_t wrap_sysv_signal(int sig, sighandler_t handler)
{
	return by_signal(&calls[SYSV_SIGNAL], sig, handler, (int)SA_RESETHAND | SA_NODEFER);
}

static sighandler_t wrap_sigset(int sig, sighandler_t handler)
{
	return by_signal(&calls[SIGSET], sig, handler, 0);
}

static int want(struct source *s, int on)
{
	static int nr_wants;
	int sig, err = 0;

	(void)s;
	if (on ? nr_wants++ : --nr_wants)
		return 0; /* the other source still needs it */
	if (on)
		err = interpose_register(calls, ARRAY_SIZE(calls));
	if (err) {
		nr_wants--;
		return err;
	}
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
		interpose_unregister(calls, ARRAY_SIZE(calls));
	return 0;
}

struct source signal_handlers = {.want = want};
struct source handler_frames = {.want = want};

int signals_fatal(void (*handler)(int sig, siginfo_t *info, void *context), uint64_t signals)
{
	const uint64_t before = fatal_signals;
	int sig, err = 0;

	if (signals && !before)
		err = interpose_register(calls, ARRAY_SIZE(calls));
	if (err)
		return err;
	if (handler)
		fatal = handler;
	store_release(&fatal_signals, signals);
	for (sig = 1; sig < NSIG && sig < 64; sig++) {
		if (!can_handle(sig))
			continue;
		if (signals >> sig & 1)
			replace(sig);
		else if (before >> sig & 1)
			make_default(sig);
	}
	if (!signals && before)
		interpose_unregister(calls, ARRAY_SIZE(calls));
	return 0;
}

int signals_take(int sig, void (*handler)(int sig, siginfo_t *info, void *context))
{
	/* through libc, which adds the code that handlers return to */
	struct sigaction a = {.sa_sigaction = handler,
			      .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	struct sys_action now = {0};
	struct taken *t = takens;
	int err;

	while (t->sig)
		if (++t == takens + ARRAY_SIZE(takens))
			return -EBUSY;
	err = interpose_register(calls, ARRAY_SIZE(calls));
	if (err)
		return err;
	/* no other handler interrupts it, except for faults */
	*(uint64_t *)&a.sa_mask = sig == SIGSEGV ? ~(FAULTS >> 1) : ~UINT64_C(0);
	if (sig == SIGSEGV)
		a.sa_flags |= SA_NODEFER;
	give_back(sig);
	sigaction(sig, NULL, &t->program);
	if (is_fatal((uint64_t)t->program.sa_handler))
		t->program = (struct sigaction){.sa_handler = SIG_DFL,
						.sa_flags = own_default[sig].flags,
						.sa_mask = own_default[sig].mask};
	store_release(&t->sig, sig);
	if (!sigaction(sig, &a, NULL)) {
		if (!sys_get_action(sig, &now))
			libc_flags = (int)now.flags & ~a.sa_flags;
		return 0;
	}
	store_release(&t->sig, 0);
	interpose_unregister(calls, ARRAY_SIZE(calls));
	return -EINVAL;
}

void signals_give_back(int sig)
{
	struct taken *t = find_taken(sig);

	sigaction(sig, &t->program, NULL);
	store_release(&t->sig, 0);
	replace(sig);
	interpose_unregister(calls, ARRAY_SIZE(calls));
}

int signals_taken_is_handled(int sig)
{
	const struct taken *t = find_taken(sig);

	return t && is_handler((uint64_t)t->program.sa_handler);
}

/* The handler runs with the mask that the kernel would set. */
void signals_forward(int sig, siginfo_t *info, void *context)
{
	struct taken *t = find_taken(sig);
	struct sigaction a;
	uint64_t mask;

	if (!t || !is_handler((uint64_t)t->program.sa_handler))
		return;
	a = t->program;
	mask = *(const uint64_t *)&((ucontext_t *)context)->uc_sigmask |
	       *(const uint64_t *)&a.sa_mask;
	if (!(a.sa_flags & SA_NODEFER))
		mask |= BIT(sig - 1);
	if (sig == SIGSEGV) /* the program's handler may touch watched memory */
		mask &= ~BIT(sig - 1);
	if (a.sa_flags & (int)SA_RESETHAND)
		t->program.sa_handler = SIG_DFL;
	store_relaxed(&own[sig].flags, (uint32_t)a.sa_flags);
	store_release(&own[sig].handler, (uint64_t)a.sa_handler);
	sys_set_signals(mask);
	deliver(sig, info, context);
}

void signals_by_default(int sig, siginfo_t *info, void *context)
{
	const uint64_t by_default[4] = {0};
	const struct taken *t = find_taken(sig);

	if (fatal && load_relaxed(&fatal_signals) >> sig & 1) {
		fatal(sig, info, context);
		return;
	}
	if (info->si_code <= 0 && t && t->program.sa_handler == SIG_IGN)
		return;
	arch_raw_syscall(SYS_rt_sigaction, sig, (long)by_default, 0, 8, 0, 0);
	if (info->si_code <= 0)
		arch_raw_syscall(SYS_rt_tgsigqueueinfo, sys_getpid(), sys_gettid(), sig, (long)info,
				 0, 0);
}
