/* SPDX-License-Identifier: MIT */
/*
 * The timers of the process:
 *
 *	TIMER_INIT	timer_create(), timerfd_create(), and each sleep
 *	TIMER_START	timer_settime(), timerfd_settime(), and each sleep
 *	TIMER_CANCEL	one that was running is set anew, stopped or deleted; a sleep ends early
 *	TIMER_EXPIRE	a sleep is over
 *	TIMER_ITIMER	setitimer(), alarm(), ualarm()
 *
 * Only the kernel knows when a timer expires: the program sees its signal or its descriptor.
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

/* A field that is not named for a source is 0. */
struct timer_call {
	const void *timer;    /* its id, descriptor, or an address of the sleeping thread's stack */
	const void *function; /* of libc, that set it: TIMER_START, TIMER_EXPIRE */
	int64_t ns;	      /* TIMER_START: when, as the call has it; TIMER_EXPIRE: now */
	clockid_t clock;      /* TIMER_INIT */
	int mode;	      /* TIMER_ABS or TIMER_REL: TIMER_INIT, TIMER_START */
	int which;	      /* TIMER_ITIMER: ITIMER_REAL and its like */
	const struct itimerval *value;
};

struct timer_listener {
	struct source_link link;
	void (*call)(const struct timer_call *c);
};

extern struct source timer_sources[TIMER_NR];

#endif
