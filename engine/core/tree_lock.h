/* SPDX-License-Identifier: MIT */
/*
 * The lock of the tree: one change at a time of the control files and their objects (functions,
 * events, instances). See tree_lock.c.
 */
#ifndef VESTIGE_CORE_TREE_LOCK_H
#define VESTIGE_CORE_TREE_LOCK_H

#include <stdint.h>

/*
 * tree_lock_take() - no other thread changes the tree and its objects until tree_lock_release().
 * Signals of the calling thread wait meanwhile. For the loader's notification and its like.
 * Return: 0; -EDEADLK: the thread has it already.
 * tree_enter() - the same for functions that a program calls.
 * Return: also -ENODEV: the process has no area; -EDEADLK: a callback at a function's entry calls;
 * -EPERM: the thread may make no system call of ours (core/sandbox.h).
 * tree_lock_try() - waits ten milliseconds at most. Return: whether the lock was taken.
 */
int tree_enter(void);
int tree_lock_take(void);
void tree_lock_release(void);
int tree_lock_try(void);

/*
 * tree_settle_later() - have @settle called before the lock is taken the next time by a thread that
 * may make system calls. @settle: NULL: nothing is due.
 */
void tree_settle_later(void (*settle)(void));

/*
 * tree_fork_prepare() - before fork(): take the lock, waiting @ns at most, with signals blocked.
 * tree_fork_child() - in the child: the lock is its own, as it was its parent's. tree_fork_end() -
 * release what tree_fork_prepare() took, on either side. @how: what that returned.
 */
enum tree_forking {
	TREE_FORK_REFUSED, /* the lock was not free in time */
	TREE_FORK_TAKEN,
	TREE_FORK_OWN, /* the thread had it, and goes on with it on both sides */
};
enum tree_forking tree_fork_prepare(uint64_t ns);
void tree_fork_child(enum tree_forking how);
void tree_fork_end(enum tree_forking how);

#endif
