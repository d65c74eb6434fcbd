/* SPDX-License-Identifier: MIT */
/*
 * The locks that each thread holds: mutexes, rwlocks, spin locks, C11's mutexes. A lock that was
 * taken before there was a listener does not count, nor does its release. Semaphores have no
 * holder.
 */
#ifndef VESTIGE_SOURCES_HELD_H
#define VESTIGE_SOURCES_HELD_H

#include "abi/area.h"
#include "engine/sources/lock.h"

/*
 * The thread took a lock (@after is @before + 1), is about to release one (@after is @before - 1),
 * or has released it (@after is @before; slow work may be done now). @before, @after: how many
 * locks it holds; a lock that it took twice counts twice. Any context.
 */
struct held_listener {
	struct source_link link;
	void (*call)(const struct lock_call *c, uint32_t before, uint32_t after);
};
extern struct source held_locks;

/*
 * held_want_released() - in a callback that reports a release: call the listener again when the
 * lock has been released. Any context.
 */
void held_want_released(void);

/* The number of locks that the calling thread holds. Any context. */
uint32_t held_depth(void);

/* Whether another thread waits for a lock that the calling thread holds. Any context. */
int held_is_awaited(void);

/*
 * The threads that wait for @lock now, while there is a listener to held_locks: up to @room of them
 * into @to, with the time that they have waited until @now. @ns: length of a unit of the ring's
 * clock, in ns << 32. Return: how many threads wait. Any context.
 */
uint32_t held_waiters(const void *lock, uint64_t now, uint64_t ns, struct area_waiter *to,
		      uint32_t room);

#endif
