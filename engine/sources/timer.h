/* SPDX-License-Identifier: MIT */
/*
 * The timers of the process:
 *
 *	TIMER_INIT	timer_create(), timerfd_create(), and each sleep
 *	TIMER_START	timer_settime(), timerfd_settime(), and each sleep
 *	TIMER_CANCEL	a running timer is set anew, stopped or deleted; a sleep ends early
 *	TIMER_EXPIRE	a sleep ends
 *	TIMER_ITIMER	setitimer(), alarm(), ualarm()
 *
 * The expiry of other timers is known to the kernel alone: the program sees a signal or a
 * descriptor.
 */
#ifndef VESTIGE_SOURCES_TIMER_H
#define VESTIGE_SOURCES_TIMER_H

#include <sys/time.h>
#include <time.h>

#include "engine/sources/source.h"

enum timer_source_id {
	TIMER_INIT,
	TIMER_START,
	TIMER_CANCEL,
	TIMER_EXPIRE,
	TIMER_ITIMER,
	TIMER_NR
};

enum { TIMER_ABS, TIMER_REL };

/* Fields that do not apply to a source are 0. */
struct timer_call {
	/* its id, its descriptor, or an address on the sleeping thread's stack */
	const void *timer;
	const void *function; /* TIMER_START, TIMER_EXPIRE: libc's function that set it */
	int64_t ns;	      /* TIMER_START: the expiry, as in the call; TIMER_EXPIRE: now */
	clockid_t clock;      /* TIMER_INIT */
	int mode;	      /* TIMER_ABS or TIMER_REL: TIMER_INIT, TIMER_START */
	int which;	      /* TIMER_ITIMER: ITIMER_REAL and its kind */
	const struct itimerval *value;
};

struct timer_listener {
	struct source_link link;
	void (*call)(const struct timer_call *c);
};

extern struct source timer_sources[TIMER_NR];

#endif
