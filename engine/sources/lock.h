/* SPDX-License-Identifier: MIT */
/*
 * The program's calls of libc's locks:
 *
 *	LOCK_ACQUIRE	one is about to be taken, or (try) was taken by a call that does not wait
 *	LOCK_CONTENDED, LOCK_BEGIN, LOCK_END
 * 			it was not free: the call waits, and has waited; objects without a holder (a
 * 			semaphore, a barrier, a pthread_once() that another thread is in) have the
 * 			last two LOCK_ACQUIRED it is taken LOCK_RELEASE it is about to be given
 * 			back; or it was not taken after all (timeout, error) LOCK_RELEASED it was
 * 			given back, where that does not wait; a condition does it after this
 * 			LOCK_INIT it was initialised by a call, not by a constant LOCK_DESTROY it is
 * 			about to be destroyed
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
	LOCK_NR_EVENTS, /* the events of events/lock */
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
	LOCK_IS_ONCE, /* C11's call_once(), too */
	LOCK_NR_SORTS
};

struct lock_call {
	enum lock_source_id id;
	enum lock_sort sort;
	const void *lock;
	uint64_t site;	   /* the caller's address */
	uint64_t function; /* the function of libc that was called */
	int try;	   /* of LOCK_ACQUIRE: by a call that does not wait */
	int timed;	   /* of LOCK_ACQUIRE: by a call that does not wait for ever */
	int err; /* the call's result, of LOCK_ACQUIRED, LOCK_END and a failed LOCK_RELEASE */
};

struct lock_listener {
	struct source_link link;
	void (*call)(const struct lock_call *c);
};

extern struct source lock_sources[LOCK_NR];

#endif
