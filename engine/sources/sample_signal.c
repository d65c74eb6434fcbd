/* SPDX-License-Identifier: MIT */
/*
 * See sample_signal.h. What the program has for the signal is kept here while it is ours, and goes
 * to the kernel again afterwards. It is one whose default is that nothing happens, so one that comes
 * late does no harm, not even behind an exec. Two threads that set it at once may leave one's
 * handler with the other's flags, as nothing is locked.
 *
 * fork: the child has both. exec: the kernel forgets ours. Tests: tests/engine/tracers/sysprof.
 */
#include "engine/sources/sample_signal.h"

#include <errno.h>
#include <sys/signalfd.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/sources/sample.h"

static struct sigaction program; /* the program's, while taken */
static int taken;
static int (*handle_ours)(const siginfo_t *info, void *context);

static int is_handler(const struct sigaction *a)
{
	return a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN;
}

/* The program's handler, under the mask that it would have. */
static void forward(int sig, siginfo_t *info, void *context)
{
	struct sigaction a = program;
	uint64_t mask = *(const uint64_t *)&((ucontext_t *)context)->uc_sigmask |
			*(const uint64_t *)&a.sa_mask;

	if (!is_handler(&a))
		return;
	if (!(a.sa_flags & SA_NODEFER))
		mask |= UINT64_C(1) << (sig - 1);
	if (a.sa_flags & (int)SA_RESETHAND)
		program.sa_handler = SIG_DFL;
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask), 0, 0);
	if (a.sa_flags & SA_SIGINFO)
		a.sa_sigaction(sig, info, context);
	else
		a.sa_handler(sig);
}

static void handler(int sig, siginfo_t *info, void *context)
{
	if (!handle_ours(info, context))
		forward(sig, info, context);
}

enum { SIGACTION, SIGNAL, BSD_SIGNAL, SYSV_SIGNAL, SIGSET, WAIT, WAIT_INFO, WAIT_TIMED, SIGNALFD };
static struct interposed calls[];

static int is_hidden(int sig)
{
	return sig == SAMPLE_SIGNAL && load_acquire(&taken);
}

static int wrap_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct sigaction was = program;

	if (!is_hidden(sig))
		return INTERPOSE_REAL(calls[SIGACTION], int(int, const struct sigaction *,
							    struct sigaction *))(sig, act, old);
	if (act)
		program = *act;
	if (old)
		*old = was;
	return 0;
}

static sighandler_t set_handler(sighandler_t h, int flags)
{
	const sighandler_t was = program.sa_handler;

	program = (struct sigaction){.sa_handler = h, .sa_flags = flags};
	return was;
}

static sighandler_t by_signal(struct interposed *row, int sig, sighandler_t h, int flags)
{
	if (!is_hidden(sig) || h == SIG_ERR || h == SIG_HOLD)
		return INTERPOSE_REAL(*row, sighandler_t(int, sighandler_t))(sig, h);
	return set_handler(h, flags);
}

static sighandler_t wrap_signal(int sig, sighandler_t h)
{
	return by_signal(&calls[SIGNAL], sig, h, SA_RESTART);
}

static sighandler_t wrap_bsd_signal(int sig, sighandler_t h)
{
	return by_signal(&calls[BSD_SIGNAL], sig, h, SA_RESTART);
}

static sighandler_t wrap_sysv_signal(int sig, sighandler_t h)
{
	return by_signal(&calls[SYSV_SIGNAL], sig, h, (int)SA_RESETHAND | SA_NODEFER);
}

static sighandler_t wrap_sigset(int sig, sighandler_t h)
{
	return by_signal(&calls[SIGSET], sig, h, 0);
}

/* @set without the signal, in @copy: one that the program has blocked is ours all the same. */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
	if (!set || !load_acquire(&taken) || is_handler(&program))
		return set;
	*copy = *set;
	*(uint64_t *)copy &= ~(UINT64_C(1) << (SAMPLE_SIGNAL - 1));
	return copy;
}

static int wrap_wait(const sigset_t *set, int *sig)
{
	sigset_t copy;

	return INTERPOSE_REAL(calls[WAIT], int(const sigset_t *, int *))(without(set, &copy), sig);
}

static int wrap_wait_info(const sigset_t *set, siginfo_t *info)
{
	sigset_t copy;

	return INTERPOSE_REAL(calls[WAIT_INFO],
			      int(const sigset_t *, siginfo_t *))(without(set, &copy), info);
}

static int wrap_wait_timed(const sigset_t *set, siginfo_t *info, const struct timespec *limit)
{
	sigset_t copy;

	return INTERPOSE_REAL(calls[WAIT_TIMED],
			      int(const sigset_t *, siginfo_t *, const struct timespec *))(
		without(set, &copy), info, limit);
}

static int wrap_signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;

	return INTERPOSE_REAL(calls[SIGNALFD],
			      int(int, const sigset_t *, int))(fd, without(set, &copy), flags);
}

static struct interposed calls[] = {
	INTERPOSED(SIGACTION, "sigaction", wrap_sigaction),
	INTERPOSED(SIGNAL, "signal", wrap_signal),
	INTERPOSED(BSD_SIGNAL, "bsd_signal", wrap_bsd_signal),
	INTERPOSED(SYSV_SIGNAL, "__sysv_signal", wrap_sysv_signal),
	INTERPOSED(SIGSET, "sigset", wrap_sigset),
	INTERPOSED(WAIT, "sigwait", wrap_wait),
	INTERPOSED(WAIT_INFO, "sigwaitinfo", wrap_wait_info),
	INTERPOSED(WAIT_TIMED, "sigtimedwait", wrap_wait_timed),
	INTERPOSED(SIGNALFD, "signalfd", wrap_signalfd),
};

int sample_signal_take(int (*handle)(const siginfo_t *info, void *context))
{
	/* by libc's call, which brings the code that handlers return to */
	struct sigaction a = {.sa_sigaction = handler,
			      .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	int err = interpose_register(calls, ARRAY_SIZE(calls));

	if (err)
		return err;
	handle_ours = handle;
	/* no other handler comes between */
	*(uint64_t *)&a.sa_mask = ~UINT64_C(0);
	sigaction(SAMPLE_SIGNAL, NULL, &program);
	store_release(&taken, 1);
	if (!sigaction(SAMPLE_SIGNAL, &a, NULL))
		return 0;
	store_release(&taken, 0);
	interpose_unregister(calls, ARRAY_SIZE(calls));
	return -EINVAL;
}

void sample_signal_give_back(void)
{
	sigaction(SAMPLE_SIGNAL, &program, NULL);
	store_release(&taken, 0);
	interpose_unregister(calls, ARRAY_SIZE(calls));
}
