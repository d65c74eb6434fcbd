/* SPDX-License-Identifier: MIT */
/*
 * Signals by the calls that send them. A signal to the own thread or process cannot fail and is
 * reported before the call, as its handler would otherwise come first. Any other is reported after
 * it was sent. Not known here: signals that the kernel itself makes, signals that libc sends
 * (abort()), the single processes of a group (pid is then the call's argument, negative or 0), and
 * whether the signal is ignored or is pending already. fork: the child goes on with the same
 * wrappers.
 * Tests: tests/engine/events/signals.
 */
#include "engine/sources/signal.h"

#include <pthread.h>

#include "engine/base/compiler.h"
#include "engine/process/area.h"
#include "engine/core/interpose.h"
#include "engine/core/thread.h"
#include "engine/sources/task.h"

static int wrap_kill(pid_t pid, int sig);
static int wrap_killpg(pid_t group, int sig);
static int wrap_tgkill(pid_t tgid, pid_t tid, int sig);
static int wrap_raise(int sig);
static int wrap_pthread_kill(pthread_t thread, int sig);
static int wrap_sigqueue(pid_t pid, int sig, const union sigval value);
static int wrap_pthread_sigqueue(pthread_t thread, int sig, const union sigval value);

enum { KILL, KILLPG, TGKILL, RAISE, PTHREAD_KILL, SIGQUEUE, PTHREAD_SIGQUEUE };
static struct interposed calls[] = {
	INTERPOSED(KILL, "kill", wrap_kill),
	INTERPOSED(KILLPG, "killpg", wrap_killpg),
	INTERPOSED(TGKILL, "tgkill", wrap_tgkill),
	INTERPOSED(RAISE, "raise", wrap_raise),
	INTERPOSED(PTHREAD_KILL, "pthread_kill", wrap_pthread_kill),
	INTERPOSED(SIGQUEUE, "sigqueue", wrap_sigqueue),
	INTERPOSED(PTHREAD_SIGQUEUE, "pthread_sigqueue", wrap_pthread_sigqueue),
};

static void generate(int sig, int code, pid_t pid, int group)
{
	/* signal 0 only checks whether a signal could be sent */
	if (sig >= 1 && sig <= 64)
		SOURCE_NOTIFY(struct signal_send_listener, load_acquire(&signal_sends.first), sig,
			      code, pid, group);
}

/* A fork's child may have no area; then the engine does nothing there. */
static int is_own(pid_t pid)
{
	return area && pid == area->pid;
}

static int wrap_kill(pid_t pid, int sig)
{
	int own = is_own(pid), ret;

	if (own)
		generate(sig, SI_USER, pid, 1);
	ret = INTERPOSE_REAL(calls[KILL], int(pid_t, int))(pid, sig);
	if (!own && !ret)
		generate(sig, SI_USER, pid, 1);
	return ret;
}

static int wrap_killpg(pid_t group, int sig)
{
	int ret = INTERPOSE_REAL(calls[KILLPG], int(pid_t, int))(group, sig);

	if (!ret)
		generate(sig, SI_USER, -group, 1);
	return ret;
}

static int wrap_tgkill(pid_t tgid, pid_t tid, int sig)
{
	int own = tid == sched_task_own_tid(), ret;

	if (own)
		generate(sig, SI_TKILL, tid, 0);
	ret = INTERPOSE_REAL(calls[TGKILL], int(pid_t, pid_t, int))(tgid, tid, sig);
	if (!own && !ret)
		generate(sig, SI_TKILL, tid, 0);
	return ret;
}

static int wrap_raise(int sig)
{
	generate(sig, SI_TKILL, sched_task_own_tid(), 0);
	return INTERPOSE_REAL(calls[RAISE], int(int))(sig);
}

static int is_self(pthread_t thread)
{
	return thread == (pthread_t)__builtin_thread_pointer();
}

static int wrap_pthread_kill(pthread_t thread, int sig)
{
	int own = is_self(thread), tid = own ? sched_task_own_tid() : thread_tid(thread), ret;

	if (own)
		generate(sig, SI_TKILL, tid, 0);
	ret = INTERPOSE_REAL(calls[PTHREAD_KILL], int(pthread_t, int))(thread, sig);
	if (!own && !ret)
		generate(sig, SI_TKILL, tid, 0);
	return ret;
}

static int wrap_sigqueue(pid_t pid, int sig, const union sigval value)
{
	int own = is_own(pid), ret;

	if (own)
		generate(sig, SI_QUEUE, pid, 1);
	ret = INTERPOSE_REAL(calls[SIGQUEUE], int(pid_t, int, union sigval))(pid, sig, value);
	if (!own && !ret)
		generate(sig, SI_QUEUE, pid, 1);
	return ret;
}

static int wrap_pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	int own = is_self(thread), tid = own ? sched_task_own_tid() : thread_tid(thread), ret;

	if (own)
		generate(sig, SI_QUEUE, tid, 0);
	ret = INTERPOSE_REAL(calls[PTHREAD_SIGQUEUE],
			     int(pthread_t, int, union sigval))(thread, sig, value);
	if (!own && !ret)
		generate(sig, SI_QUEUE, tid, 0);
	return ret;
}

static int want(struct source *s, int on)
{
	(void)s;
	return interpose_switch(calls, ARRAY_SIZE(calls), on);
}

struct source signal_sends = {.want = want};
