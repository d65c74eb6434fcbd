/* SPDX-License-Identifier: MIT */
/*
 * Classes of locks, as in lockdep. Locks that one line of source initialises are one class. A lock
 * with a constant initialiser is a class of its own if it is a static variable; otherwise it has
 * the class of the line that took it first.
 */
#ifndef VESTIGE_SOURCES_LOCK_CLASS_H
#define VESTIGE_SOURCES_LOCK_CLASS_H

#include "engine/sources/lock.h"

enum lock_class_by { LOCK_BY_INIT, LOCK_BY_VARIABLE, LOCK_BY_FIRST };

#define LOCK_CLASS_GONE (UINT64_C(1) << 63)

struct lock_class {
	uint64_t key; /* 0: a free slot; LOCK_CLASS_GONE: its object was unloaded */
};

/* The address of the initialising or first call, or of the variable. */
static inline uint64_t lock_class_address(const struct lock_class *c)
{
	return (load_relaxed(&c->key) & ~LOCK_CLASS_GONE) >> 2;
}

static inline enum lock_class_by lock_class_by(const struct lock_class *c)
{
	return (enum lock_class_by)(load_relaxed(&c->key) & 3);
}

/* What is known of a lock. Both 0: nothing. */
struct lock_known {
	uint64_t serial; /* unique number of the lock, never used again */
	uint32_t class;	 /* 0: there is no room for its class */
};

/*
 * lock_class_start() - begin with empty tables, and watch from now on how locks are made. Under the
 * tree lock. Return: 0; -ENOMEM; -ENODEV: a static program. lock_class_stop() - stop that.
 */
int lock_class_start(void);
void lock_class_stop(void);

/* Look up the lock that is taken at @site, and add it if it is unknown. Any context. */
struct lock_known lock_class_of(const void *lock, uint64_t site);

/* The class with that number; NULL: there is none. Any context. */
const struct lock_class *lock_class_at(uint32_t class);

/* Counts: classes, locks that were added, and classes and locks for which there was no room. */
struct lock_class_counts {
	uint64_t classes, locks, lost;
};
struct lock_class_counts lock_class_count(void);

#endif
