/* SPDX-License-Identifier: MIT */
/*
 * The program's calls of libc's locks:
 *
 *	LOCK_ACQUIRE	a lock is about to be taken, or (try) was taken by a call that does not wait
 *	LOCK_CONTENDED	it was not free
 *	LOCK_BEGIN	the call begins to wait
 *	LOCK_END	the call has waited
 *	LOCK_ACQUIRED	the lock is taken
 *	LOCK_RELEASE	it is about to be released; or it was not taken after all (timeout, error)
 *	LOCK_RELEASED	the call has released it; or pthread_cond_wait() or its
 *			kind is about to release it, and to wait
 *	LOCK_INIT	a call initialised it; a constant initialiser is not seen
 *	LOCK_DESTROY	it is about to be destroyed
 *
 * Objects without a holder (a semaphore, a barrier, a pthread_once() that another thread is in)
 * have LOCK_BEGIN and LOCK_END alone of the first five.
 */
#ifndef VESTIGE_SOURCES_LOCK_H
#define VESTIGE_SOURCES_LOCK_H

#include "engine/sources/source.h"

enum lock_source_id {
	LOCK_ACQUIRE,
	LOCK_ACQUIRED,
	LOCK_CONTENDED,
	LOCK_RELEASE,
	LOCK_BEGIN,
	LOCK_END,
	LOCK_NR_EVENTS, /* number of the events of events/lock */
	LOCK_RELEASED = LOCK_NR_EVENTS,
	LOCK_INIT,
	LOCK_DESTROY,
	LOCK_NR
};

enum lock_sort {
	LOCK_IS_MUTEX,
	LOCK_IS_READER, /* of an rwlock */
	LOCK_IS_WRITER,
	LOCK_IS_SPIN,
	LOCK_IS_MTX, /* C11 */
	LOCK_IS_SEM,
	LOCK_IS_BARRIER,
	LOCK_IS_ONCE, /* also C11's call_once() */
	LOCK_NR_SORTS
};

struct lock_call {
	enum lock_source_id id;
	enum lock_sort sort;
	const void *lock;
	uint64_t site;	   /* the caller's address */
	uint64_t function; /* libc's function that was called */
	int try;	   /* LOCK_ACQUIRE: the call does not wait */
	int timed;	   /* LOCK_ACQUIRE: the call has a time limit */
	int err; /* result of the call: LOCK_ACQUIRED, LOCK_END, and a failed LOCK_RELEASE */
};

struct lock_listener {
	struct source_link link;
	void (*call)(const struct lock_call *c);
};

extern struct source lock_sources[LOCK_NR];

#endif
