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
 * The thread took a lock (@after is @before + 1), is about to give one back (@after is @before -
 * 1), or has given it back (both are the same; slow work may be done now). @before, @after: how
 * many it holds; a lock that it took twice counts twice.
 */
struct held_listener {
	struct source_link link;
	void (*call)(const struct lock_call *c, uint32_t before, uint32_t after);
};
extern struct source held_locks;

/*
 * For a listener, when a release is reported: have it called again when the lock was given back.
 * Any context.
 */
void held_want_released(void);

/* How many the calling thread holds. Any context. */
uint32_t held_depth(void);

/* Whether another thread waits for one of them. Any context. */
int held_is_awaited(void);

/*
 * The threads that wait for a lock now, while there is a listener to held_locks: up to @room of
 * them into @to, with the time that they have waited at @now. @ns: of a unit of the ring's clock,
 * << 32. Return: how many there are. Any context.
 */
uint32_t held_waiters(const void *lock, uint64_t now, uint64_t ns, struct area_waiter *to,
		      uint32_t room);

#endif
