/* SPDX-License-Identifier: MIT */
/*
 * See agent_follow.h. After its call the main thread waits until the agent has made the same one.
 * The agent answers within 50 ms, also while it serves a client, unless it is stuck: it waits for a
 * lock or a grace period that the main thread's own handler has interrupted. After PATIENCE_MS it
 * has to end. An agent that differed from the main thread could make glibc end the process.
 *
 * libcap's psx makes a call in all threads at once, the agent's too, in a handler that waits for
 * all others. So the agent says which call it has made itself, and that one is not waited for.
 * fork: the child's agent starts anew. Tests: tests/engine/fire/credentials.
 */
#include "engine/control/agent_follow.h"

#include <errno.h>
#include <linux/futex.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/credentials.h"
#include "engine/process/area.h"
#include "engine/ring/ring.h"

#define PATIENCE_MS 1000
#define WAIT_MS	    50

/* The main thread alone writes @call and @asked. */
static struct credentials_call call;
static uint32_t asked, done; /* numbers of calls; @done is a futex */
static uint32_t ends;
/* The last call that the agent has made by itself, while @has_own is 1. */
static struct credentials_call own;
static uint32_t has_own;

static int (*wake_agent)(void);
static void (*end_agent)(void);

static uint64_t now_ms(void)
{
	return ring_clock_mono() / 1000000;
}

static void wake_main(void)
{
	arch_syscall(SYS_futex, (long)&done, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

void agent_follow_main(void)
{
	uint32_t now = load_acquire(&asked);

	if (now == load_acquire(&done))
		return;
	store_release(&has_own, 0);
	credentials_repeat(&call);
	store_release(&done, now);
	wake_main();
}

int agent_follow_is_used(void)
{
	return load_relaxed(&asked) != 0;
}

void agent_follow_end(void)
{
	store_release(&ends, 1);
	agent_follow_main();
	wake_main();
}

/* The agent's thread has made a call in a handler of the program. */
static void note_own(const struct credentials_call *c)
{
	store_release(&has_own, 0);
	own = *c;
	store_release(&has_own, 1);
	wake_main();
}

/* Whether the agent has made the same call by itself; once. */
static int was_made(const struct credentials_call *c)
{
	return load_acquire(&has_own) && credentials_are_same(&own, c) &&
	       compare_and_store(&has_own, 1, 0);
}

static void follow(const struct credentials_call *c)
{
	const long slice[2] = {0, WAIT_MS * 1000000L};
	uint64_t until = now_ms() + PATIENCE_MS, signals;
	uint32_t now, before;

	if (load_acquire(&ends) || was_made(c))
		return;
	/* their handlers may ask, too */
	signals = sys_put_off_signals(UINT64_MAX);
	now = asked + 1;
	call = *c;
	store_release(&asked, now);
	if (wake_agent() == -ESRCH)
		store_release(&ends, 1);
	while ((before = load_acquire(&done)) != now && !load_acquire(&ends)) {
		if (was_made(c)) {
			store_release(&done, now);
			break;
		}
		if (now_ms() >= until) {
			store_release(&ends, 1);
			end_agent();
			area_status("no control from outside: the agent could not take over the "
				    "main thread's ids or capabilities",
				    NULL, 0);
			break;
		}
		arch_syscall(SYS_futex, (long)&done, FUTEX_WAIT_PRIVATE, before, (long)slice, 0, 0);
	}
	sys_set_signals(signals);
}

void agent_follow_start(int (*wake)(void), void (*end)(void))
{
	wake_agent = wake;
	end_agent = end;
	store_release(&has_own, 0);
	store_release(&done, asked);
	store_release(&ends, 0);
	credentials_use_agent(follow, note_own);
}
