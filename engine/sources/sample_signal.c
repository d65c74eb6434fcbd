/* SPDX-License-Identifier: MIT */
/*
 * See sample_signal.h. signals_take() keeps the signal and the program's action for it. This file
 * has the calls that wait for signals: they do not wait for the engine's. The signal's default
 * action is to be ignored, so a late one does no harm, not even after an exec.
 *
 * fork: the child has both. exec: the kernel resets the engine's. Tests:
 * tests/engine/tracers/sysprof.
 */
#include "engine/sources/sample_signal.h"

#include <errno.h>
#include <sys/signalfd.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/core/interpose.h"
#include "engine/sources/sample.h"
#include "engine/sources/signal.h"

static int taken;
static int (*handle_ours)(const siginfo_t *info, void *context);

static void handler(int sig, siginfo_t *info, void *context)
{
	if (!handle_ours(info, context))
		signals_forward(sig, info, context);
}

enum { WAIT, WAIT_INFO, WAIT_TIMED, SIGNALFD };
static struct interposed calls[];

/*
 * Copy @set without the signal to @copy: the engine gets the signal even if the program blocks it.
 */
static const sigset_t *without(const sigset_t *set, sigset_t *copy)
{
	if (!set || !load_acquire(&taken) || signals_taken_is_handled(SAMPLE_SIGNAL))
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
	INTERPOSED(WAIT, "sigwait", wrap_wait),
	INTERPOSED(WAIT_INFO, "sigwaitinfo", wrap_wait_info),
	INTERPOSED(WAIT_TIMED, "sigtimedwait", wrap_wait_timed),
	INTERPOSED(SIGNALFD, "signalfd", wrap_signalfd),
};

int sample_signal_take(int (*handle)(const siginfo_t *info, void *context))
{
	int err = interpose_register(calls, ARRAY_SIZE(calls));

	if (err)
		return err;
	handle_ours = handle;
	store_release(&taken, 1);
	err = signals_take(SAMPLE_SIGNAL, handler);
	if (!err)
		return 0;
	store_release(&taken, 0);
	interpose_unregister(calls, ARRAY_SIZE(calls));
	return err;
}

void sample_signal_give_back(void)
{
	signals_give_back(SAMPLE_SIGNAL);
	store_release(&taken, 0);
	interpose_unregister(calls, ARRAY_SIZE(calls));
}
