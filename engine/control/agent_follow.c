/* SPDX-License-Identifier: MIT */
/*
 * See agent_follow.h. After its call the main thread sends the agent glibc's own signal for
 * setuid(), which the agent never blocks for long, with a value that glibc does not use. A handler
 * of ours, in front of glibc's, makes the same call at once, whatever the agent does meanwhile, and
 * the main thread waits for it, as glibc's setuid() waits for all threads. Other signals of that
 * number go on to glibc's handler.
 *
 * libcap's psx makes a call in all threads at once, also in the agent, by a handler of the same
 * signal that waits for all others. So the agent notes which call it has made there, and that one
 * is not waited for. fork: the child's agent starts anew. Tests: tests/engine/fire/credentials.
 */
#include "engine/control/agent_follow.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/credentials.h"
#include "engine/process/area.h"
#include "engine/ring/ring.h"

#define SIGNAL	    33 /* glibc's SIGSETXID */
#define SIGNAL_BIT  (UINT64_C(1) << (SIGNAL - 1))
#define WAIT_MS	    50
#define PATIENCE_MS 10000 /* for an agent that a debugger has stopped */
#define END_MS	    1000

/* The main thread alone writes @call and @asked. */
static struct credentials_call call;
static uint32_t asked, done; /* numbers of calls; @done is a futex */
static int asking;	     /* the main thread waits */
/* The last call that the agent has made in a handler of the program, while @has_own is 1. */
static struct credentials_call own;
static uint32_t has_own;

enum { NONE = -1, STARTS = 0 };
static int agent_tid = NONE; /* or the agent's thread */
static uint32_t ends;	     /* the agent's thread is about to end */

static struct sys_action libcs;

static uint64_t now_ms(void)
{
	return ring_clock_mono() / 1000000;
}

static void wake_main(void)
{
	arch_syscall(SYS_futex, (long)&done, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/* Make the call that the main thread has asked for, if any. */
static void repeat(void)
{
	uint32_t now = load_acquire(&asked);

	if (now == load_acquire(&done))
		return;
	store_release(&has_own, 0);
	credentials_repeat(&call);
	store_release(&done, now);
	wake_main();
}

static void handler(int sig, siginfo_t *info, void *context)
{
	if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &asked)
		repeat();
	else if (libcs.handler > 1) /* neither SIG_DFL nor SIG_IGN */
		((void (*)(int, siginfo_t *, void *))libcs.handler)(sig, info, context);
}

/* Return: 0; -ESRCH: the agent has ended. */
static int send(int tid)
{
	siginfo_t info = {.si_signo = SIGNAL, .si_code = SI_QUEUE};

	info.si_pid = (int)sys_getpid();
	info.si_value.sival_ptr = &asked;
	return (int)arch_syscall(SYS_rt_tgsigqueueinfo, sys_getpid(), tid, SIGNAL, (long)&info, 0,
				 0);
}

static int is_gone(int tid)
{
	return arch_syscall(SYS_tgkill, sys_getpid(), tid, 0, 0, 0, 0) == -ESRCH;
}

/* The agent's thread has made a call in a handler of the program. */
static void note_own(const struct credentials_call *c)
{
	store_release(&has_own, 0);
	own = *c;
	store_release(&has_own, 1);
	wake_main();
}

/* Whether the agent has made the same call there; once. */
static int was_made(const struct credentials_call *c)
{
	return load_acquire(&has_own) && credentials_are_same(&own, c) &&
	       compare_and_store(&has_own, 1, 0);
}

/* Wait until the agent has made the call with the number @now. */
static void wait_done(const struct credentials_call *c, uint32_t now)
{
	const long slice[2] = {0, WAIT_MS * 1000000L};
	uint64_t until = now_ms() + PATIENCE_MS;
	int sent = 0, tid;
	uint32_t before;

	while ((before = load_acquire(&done)) != now) {
		tid = load_acquire(&agent_tid);
		if (tid == NONE || (tid > 0 && is_gone(tid)))
			break;
		if (was_made(c)) {
			store_release(&done, now);
			break;
		}
		/* an agent that starts looks by itself */
		if (tid > 0 && !sent)
			sent = !send(tid);
		if (now_ms() >= until) {
			store_release(&agent_tid, NONE);
			area_status("the agent did not take over the main thread's ids or "
				    "capabilities: setuid() may fail",
				    NULL, 0);
			break;
		}
		arch_syscall(SYS_futex, (long)&done, FUTEX_WAIT_PRIVATE, before, (long)slice, 0, 0);
	}
}

void agent_follow_gone(uint64_t until_ms)
{
	int tid = load_acquire(&agent_tid);

	while (tid > 0 && !is_gone(tid) && now_ms() < until_ms)
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	store_release(&agent_tid, NONE);
}

static void follow(const struct credentials_call *c)
{
	int tid = load_acquire(&agent_tid);
	uint64_t signals;

	/*
	 * NONE, and a child that shares our memory and has our number in a PID namespace of its
	 * own; a handler of psx that interrupts the wait
	 */
	if (tid == NONE || (tid > 0 && is_gone(tid)) || asking || was_made(c))
		return;
	if (load_acquire(&ends)) {
		/* glibc's setuid() counts a thread until its very end */
		agent_follow_gone(now_ms() + END_MS);
		return;
	}
	/* their handlers may ask, too */
	signals = sys_put_off_signals(~SIGNAL_BIT);
	asking = 1;
	call = *c;
	store_release(&asked, asked + 1);
	wait_done(c, asked);
	asking = 0;
	sys_set_signals(signals);
}

void agent_follow_start(void)
{
	store_release(&ends, 0);
	store_release(&has_own, 0);
	store_release(&done, asked);
	store_release(&agent_tid, STARTS);
	credentials_use_agent(follow, note_own);
}

/* libc has set its handler before it has made this thread. */
static void take_signal(void)
{
	struct sys_action a;

	if (sys_get_action(SIGNAL, &a) || a.handler == (uint64_t)handler)
		return;
	libcs = a;
	a.handler = (uint64_t)handler;
	a.flags |= SA_SIGINFO;
	if (libcs.restorer)
		sys_set_action(SIGNAL, &a);
}

void agent_follow_begin(void)
{
	take_signal();
	store_release(&agent_tid, sys_gettid());
	repeat();
}

void agent_follow_turn(void)
{
	store_release(&has_own, 0);
}

void agent_follow_end(void)
{
	store_release(&ends, 1);
}

static void fork_follow(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE) {
		agent_tid = NONE;
		asking = 0;
	}
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_follow, NULL);
