/* SPDX-License-Identifier: MIT */
/*
 * A lock for control paths, never taken in a hook: the agent and a thread of the program may write
 * control files at once. A waiter yields. A fork's child starts with it free (lock_reset).
 */
#ifndef VESTIGE_CORE_LOCK_H
#define VESTIGE_CORE_LOCK_H

#include "engine/arch/sys.h"

struct lock {
	int taken;
};

static inline void lock_take(struct lock *l)
{
	while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
		arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* Whether it was to be had. */
static inline int lock_try(struct lock *l)
{
	return !__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE);
}

static inline void lock_release(struct lock *l)
{
	__atomic_store_n(&l->taken, 0, __ATOMIC_RELEASE);
}

#endif
