/* SPDX-License-Identifier: MIT */
/*
 * A lock for control paths, never taken in a hook: the agent and threads of the program may write
 * control files at the same time. A futex with priority inheritance, so that a waiting real-time
 * thread lends its priority to the owner. On a kernel without it, or when a thread has given up
 * system calls, a waiter sleeps and tries again. If a thread ends while it holds the lock, the next
 * one gets the lock.
 */
#ifndef VESTIGE_PROCESS_LOCK_H
#define VESTIGE_PROCESS_LOCK_H

#include <stdint.h>

struct lock {
	uint32_t word; /* the futex: the owner's thread id and the kernel's bits; 0: free */
};

#define LOCK_FOR_EVER UINT64_MAX

/*
 * lock_take() - wait for the lock. lock_take_within() - wait at most @ns nanoseconds; 0: do not
 * wait. Return: 0; -EDEADLK: the calling thread has it already; -ETIMEDOUT; -EPERM: the thread's id
 * is not known (it may make no system call). Any thread; a signal handler that interrupted the
 * owner gets -EDEADLK.
 */
int lock_take_within(struct lock *l, uint64_t ns);

static inline int lock_take(struct lock *l)
{
	return lock_take_within(l, LOCK_FOR_EVER);
}

/* Release the lock; only its owner may. */
void lock_release(struct lock *l);

/*
 * In a fork's child, whatever its state in the parent: make it free, or with @owned the calling
 * thread's.
 */
void lock_fork(struct lock *l, int owned);

#endif
