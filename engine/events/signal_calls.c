/* SPDX-License-Identifier: MIT */
/*
 * signal_generate by the calls that send a signal. What a thread sends itself, or to its process, cannot
 * fail and is told before: its handler comes first otherwise. Any other is told when it was sent. Not
 * known here: signals of the kernel's own making, what libc sends within itself (abort()), each of
 * the processes of a group (pid is then that of the call, negative or 0), and whether the signal was
 * ignored or waits already: result is 0.
 * fork: the child goes on with the same wrappers. Tests: tests/engine/events/signals.
 */
#include <pthread.h>
#include <signal.h>

#include "engine/base/compiler.h"
#include "engine/core/area.h"
#include "engine/core/interpose.h"
#include "engine/core/thread.h"
#include "engine/events/signal_event.h"
#include "engine/events/signal_record.h"

#define REAL(row, type) ((__typeof__(type) *)(row).real)

static int wrap_kill(pid_t pid, int sig);
static int wrap_killpg(pid_t group, int sig);
static int wrap_tgkill(pid_t tgid, pid_t tid, int sig);
static int wrap_raise(int sig);
static int wrap_pthread_kill(pthread_t thread, int sig);
static int wrap_sigqueue(pid_t pid, int sig, const union sigval value);
static int wrap_pthread_sigqueue(pthread_t thread, int sig, const union sigval value);

enum { KILL, KILLPG, TGKILL, RAISE, PTHREAD_KILL, SIGQUEUE, PTHREAD_SIGQUEUE };
static struct interposed calls[] = {
	[KILL] = {.name = "kill", .wrapper = wrap_kill},
	[KILLPG] = {.name = "killpg", .wrapper = wrap_killpg},
	[TGKILL] = {.name = "tgkill", .wrapper = wrap_tgkill},
	[RAISE] = {.name = "raise", .wrapper = wrap_raise},
	[PTHREAD_KILL] = {.name = "pthread_kill", .wrapper = wrap_pthread_kill},
	[SIGQUEUE] = {.name = "sigqueue", .wrapper = wrap_sigqueue},
	[PTHREAD_SIGQUEUE] = {.name = "pthread_sigqueue", .wrapper = wrap_pthread_sigqueue},
};

static void generate(int sig, int code, pid_t pid, int group)
{
	struct signal_generate_record rec = {.sig = sig, .code = code, .pid = pid, .group = group};

	/* 0 asks whether it could be sent */
	if (sig < 1 || sig > 64)
		return;
	sched_task_comm(pid, rec.comm);
	own_event_write(&signal_generate_event, &rec, sizeof(rec));
}

/* A fork's child may have no area: it is asleep then. */
static int is_own(pid_t pid)
{
	return area && pid == area->pid;
}

static int wrap_kill(pid_t pid, int sig)
{
	int own = is_own(pid), ret;

	if (own)
		generate(sig, SI_USER, pid, 1);
	ret = REAL(calls[KILL], int(pid_t, int))(pid, sig);
	if (!own && !ret)
		generate(sig, SI_USER, pid, 1);
	return ret;
}

static int wrap_killpg(pid_t group, int sig)
{
	int ret = REAL(calls[KILLPG], int(pid_t, int))(group, sig);

	if (!ret)
		generate(sig, SI_USER, -group, 1);
	return ret;
}

static int wrap_tgkill(pid_t tgid, pid_t tid, int sig)
{
	int own = tid == sched_task_own_tid(), ret;

	if (own)
		generate(sig, SI_TKILL, tid, 0);
	ret = REAL(calls[TGKILL], int(pid_t, pid_t, int))(tgid, tid, sig);
	if (!own && !ret)
		generate(sig, SI_TKILL, tid, 0);
	return ret;
}

static int wrap_raise(int sig)
{
	generate(sig, SI_TKILL, sched_task_own_tid(), 0);
	return REAL(calls[RAISE], int(int))(sig);
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
	ret = REAL(calls[PTHREAD_KILL], int(pthread_t, int))(thread, sig);
	if (!own && !ret)
		generate(sig, SI_TKILL, tid, 0);
	return ret;
}

static int wrap_sigqueue(pid_t pid, int sig, const union sigval value)
{
	int own = is_own(pid), ret;

	if (own)
		generate(sig, SI_QUEUE, pid, 1);
	ret = REAL(calls[SIGQUEUE], int(pid_t, int, union sigval))(pid, sig, value);
	if (!own && !ret)
		generate(sig, SI_QUEUE, pid, 1);
	return ret;
}

static int wrap_pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	int own = is_self(thread), tid = own ? sched_task_own_tid() : thread_tid(thread), ret;

	if (own)
		generate(sig, SI_QUEUE, tid, 0);
	ret = REAL(calls[PTHREAD_SIGQUEUE], int(pthread_t, int, union sigval))(thread, sig, value);
	if (!own && !ret)
		generate(sig, SI_QUEUE, tid, 0);
	return ret;
}

int signal_calls_see(int on)
{
	if (on)
		return interpose_want(calls, ARRAY_SIZE(calls));
	interpose_drop(calls, ARRAY_SIZE(calls));
	return 0;
}
