/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tree of control files: the agent, threads of the program that write control
 * files, and the loader's notification make their changes one after the other. The signals of a
 * thread that holds it are blocked, as a handler may fork or write control files. fork:
 * tree_fork_prepare(). Tests: tests/engine/fire/forks, ops.
 */
#include "engine/core/tree_lock.h"

#include <errno.h>
#include <signal.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/process/area.h"
#include "engine/process/lock.h"
#include "engine/core/ops.h"

static struct lock tree_lock;
static uint64_t signals_before; /* signal mask of the thread that holds it */
static void (*due)(void);	/* work that a thread without system calls has left */

#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))

/*
 * Signals that a thread causes itself are not blocked, nor the signal by which glibc changes the
 * ids of all threads.
 */
#define PUT_OFF                                                                                    \
	(~(SIGNAL_BIT(SIGSEGV) | SIGNAL_BIT(SIGBUS) | SIGNAL_BIT(SIGILL) | SIGNAL_BIT(SIGFPE) |    \
	   SIGNAL_BIT(SIGTRAP) | SIGNAL_BIT(SIGSYS) | SIGNAL_BIT(33)))

static int take_within(uint64_t ns)
{
	uint64_t before = sys_put_off_signals(PUT_OFF);
	int err = lock_take_within(&tree_lock, ns);

	if (err)
		sys_set_signals(before);
	else
		signals_before = before;
	return err;
}

void tree_settle_later(void (*settle)(void))
{
	store_release(&due, settle);
}

/*
 * Do due work first, without the lock: it takes locks that must be taken before this one. It stays
 * due while it cannot get them.
 */
int tree_lock_take(void)
{
	void (*settle)(void);
	int err;

	for (;;) {
		settle = sys_is_forbidden() ? NULL : load_acquire(&due);
		if (unlikely(settle))
			settle();
		err = take_within(LOCK_FOR_EVER);
		if (err || likely(!load_relaxed(&due)) || sys_is_forbidden())
			return err;
		tree_lock_release();
	}
}

/*
 * The holder of the lock may be waiting for a callback to end, so a callback must not wait for the
 * lock. A child of vfork() or raw clone() has its parent's area.
 */
int tree_enter(void)
{
	if (!area || !area_is_own())
		return -ENODEV;
	if (sys_is_forbidden())
		return -EPERM;
	return ops_is_inside() ? -EDEADLK : tree_lock_take();
}

int tree_lock_try(uint64_t ns)
{
	return !take_within(ns);
}

void tree_lock_release(void)
{
	uint64_t before = signals_before;

	lock_release(&tree_lock);
	sys_set_signals(before);
}

enum tree_forking tree_fork_prepare(uint64_t ns)
{
	int err = take_within(ns);

	return !err ? TREE_FORK_TAKEN : err == -EDEADLK ? TREE_FORK_OWN : TREE_FORK_REFUSED;
}

void tree_fork_child(enum tree_forking how)
{
	lock_fork(&tree_lock, how != TREE_FORK_REFUSED);
}

void tree_fork_end(enum tree_forking how)
{
	if (how == TREE_FORK_TAKEN)
		tree_lock_release();
}
