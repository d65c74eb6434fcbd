/* SPDX-License-Identifier: MIT */
/*
 * Cycles in the order in which threads take locks, as lockdep finds them: a lock of one class that
 * is waited for while one of another class is held makes a dependency, and a dependency that closes
 * a circle of them is reported once, before the thread waits. Locks of one class (lock_class.h)
 * have dependencies of their own, lock by lock. trylock and its kind make no dependency to their
 * lock; readers that lock out no other reader make no cycle.
 */
#ifndef VESTIGE_SOURCES_LOCK_ORDER_H
#define VESTIGE_SOURCES_LOCK_ORDER_H

#include "engine/sources/lock_class.h"

#define LOCK_ORDER_FRAMES  16u
#define LOCK_ORDER_LOCKS   8u /* of a cycle that are reported */
#define LOCK_ORDER_REPORTS 32u

/* A dependency as it was first seen: @taken was waited for by a thread that held @held. */
struct lock_dependency {
	const void *held, *taken;
	uint64_t held_site; /* where that was taken */
	uint32_t held_class, taken_class;
	uint32_t held_shared, taken_shared; /* by readers of an rwlock */
	int32_t tid;
	char comm[16];
	uint32_t nr_frames;
	uint64_t frames[LOCK_ORDER_FRAMES]; /* where @taken was taken, innermost first */
};

/* at[0] closed the circle; the lock that each holds is the one that the next takes. */
struct lock_cycle {
	uint32_t number; /* from 1 */
	uint32_t nr;	 /* locks of the cycle, of which at most LOCK_ORDER_LOCKS are in at[] */
	struct lock_dependency at[LOCK_ORDER_LOCKS];
};

/*
 * A cycle was found; the thread has not begun to wait. The order is checked while there is a
 * listener; the first one begins with an empty table. -ENODEV: a static program.
 */
struct lock_cycle_listener {
	struct source_link link;
	void (*call)(const struct lock_cycle *c);
};
extern struct source lock_cycles;

struct lock_order_counts {
	uint64_t cycles, dependencies;
	uint64_t lost; /* dependencies that had no room, or came while another one was added */
};
struct lock_order_counts lock_order_count(void);

/* The i-th cycle that was found, while there is a listener or since; NULL. Any context. */
const struct lock_cycle *lock_order_cycle(uint32_t i);

#endif
