/* SPDX-License-Identifier: MIT */
/*
 * Cycles in the order in which threads take locks, as lockdep finds them. A thread that may wait
 * for a lock of one class while it holds a lock of another class makes a dependency. A dependency
 * that closes a cycle is reported once, before the thread waits. Locks of one class (lock_class.h)
 * have dependencies of their own, lock by lock. trylock and its kind make no dependency to their
 * lock; readers that lock out no other reader make no cycle.
 */
#ifndef VESTIGE_SOURCES_LOCK_ORDER_H
#define VESTIGE_SOURCES_LOCK_ORDER_H

#include "engine/sources/lock_class.h"

#define LOCK_ORDER_FRAMES  16u
#define LOCK_ORDER_LOCKS   8u /* locks of a cycle that are reported */
#define LOCK_ORDER_REPORTS 32u

/* A dependency as it was first seen: a thread that held @held was about to take @taken. */
struct lock_dependency {
	const void *held, *taken;
	uint64_t held_site; /* the call that took @held */
	uint32_t held_class, taken_class;
	uint32_t held_shared, taken_shared; /* by a reader of an rwlock */
	int32_t tid;
	char comm[16];
	uint32_t nr_frames;
	uint64_t frames[LOCK_ORDER_FRAMES]; /* where @taken is taken, innermost first */
};

/*
 * at[0] closed the cycle; the lock that one dependency holds is the lock that the next one takes.
 */
struct lock_cycle {
	uint32_t number; /* from 1 */
	uint32_t nr;	 /* locks of the cycle; at most LOCK_ORDER_LOCKS are in at[] */
	struct lock_dependency at[LOCK_ORDER_LOCKS];
};

/*
 * A cycle was found; the thread has not begun to wait. The order is checked while there is a
 * listener; the first one begins with empty graphs. want() fails with -ENODEV in a static program.
 */
struct lock_cycle_listener {
	struct source_link link;
	void (*call)(const struct lock_cycle *c);
};
extern struct source lock_cycles;

struct lock_order_counts {
	uint64_t cycles, dependencies;
	/* dependencies that were skipped: no room, or another thread had the graphs' lock */
	uint64_t lost;
};
struct lock_order_counts lock_order_count(void);

/*
 * The @i-th cycle since the first listener came, also after the last one left; NULL: there is none.
 * Any context.
 */
const struct lock_cycle *lock_order_cycle(uint32_t i);

#endif
