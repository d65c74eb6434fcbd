/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tree: one change at a time of the control files and their objects (functions,
 * events, instances). See tree_lock.c.
 */
#ifndef VESTIGE_CORE_TREE_LOCK_H
#define VESTIGE_CORE_TREE_LOCK_H

#include <stdint.h>

/*
 * tree_lock_take() - take the lock: no other thread changes the tree and its objects until
 * tree_lock_release(). The calling thread's signals are blocked meanwhile. For the loader's
 * notification and the like. Return: 0; -EDEADLK: the thread has it already.
 *
 * tree_enter() - the same, for functions that the program calls. Return: also -ENODEV: the process
 * has no area; -EDEADLK: called in a callback at a function's entry; -EPERM: the thread may make no
 * system call for the engine (core/sandbox.h).
 *
 * tree_lock_try() - wait at most @ns: TREE_SOON_NS in the middle of the program; TREE_LAST_NS where
 * the process leaves its memory and what is not done now is lost. Return: whether the lock was
 * taken.
 */
int tree_enter(void);
int tree_lock_take(void);
void tree_lock_release(void);
int tree_lock_try(uint64_t ns);

#define TREE_SOON_NS UINT64_C(10000000)
/* The agent may hold the lock while a busy machine has no CPU for it. */
#define TREE_LAST_NS UINT64_C(2000000000)

/*
 * tree_settle_later() - have @settle called before the next time that a thread that may make system
 * calls takes the lock. @settle: NULL: nothing is due.
 */
void tree_settle_later(void (*settle)(void));

/*
 * tree_fork_prepare() - before fork(): take the lock with signals blocked, waiting at most @ns.
 * tree_fork_child() - in the child: the lock is the child's own, in the state of its parent's.
 * tree_fork_end() - release what tree_fork_prepare() took, on either side. @how: the result of
 * tree_fork_prepare().
 */
enum tree_forking {
	TREE_FORK_REFUSED, /* the lock did not become free in time */
	TREE_FORK_TAKEN,
	TREE_FORK_OWN, /* the thread had it already, and keeps it on both sides */
};
enum tree_forking tree_fork_prepare(uint64_t ns);
void tree_fork_child(enum tree_forking how);
void tree_fork_end(enum tree_forking how);

#endif
