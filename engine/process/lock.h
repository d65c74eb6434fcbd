/* SPDX-License-Identifier: MIT */
/*
 * A lock for control paths, never taken in a hook: the agent and threads of the program may write
 * control files at once. A futex with priority inheritance, so that a waiting real-time thread
 * lends its priority to the owner; on a kernel without it, a waiter sleeps and looks again. If a
 * thread ends while it holds the lock, the next one gets it.
 */
#ifndef VESTIGE_PROCESS_LOCK_H
#define VESTIGE_PROCESS_LOCK_H

#include <stdint.h>

struct lock {
	uint32_t word; /* the futex: the owner's thread id and the kernel's bits; 0: it is free */
};

#define LOCK_FOR_EVER UINT64_MAX

/*
 * lock_take() - wait for it. lock_take_within(): at most @ns nanoseconds; 0: not at all.
 * Return: 0; -EDEADLK: the calling thread has it already; -ETIMEDOUT; -EPERM: its id is not known
 * (a thread that may make no system call). Any thread; a signal handler that interrupted its owner
 * gets -EDEADLK.
 */
int lock_take_within(struct lock *l, uint64_t ns);

static inline int lock_take(struct lock *l)
{
	return lock_take_within(l, LOCK_FOR_EVER);
}

/* By its owner. */
void lock_release(struct lock *l);

/* In a fork's child, whatever its parent had: it is free, or with @owned the calling thread's. */
void lock_fork(struct lock *l, int owned);

#endif
