/* SPDX-License-Identifier: MIT */
/* The system `lock` of every process: mutexes, rwlocks, spin locks and semaphores of libc. */
#ifndef VESTIGE_EVENTS_LOCK_EVENT_H
#define VESTIGE_EVENTS_LOCK_EVENT_H

/* Register the events, where they can be seen. Constructor context. Return: 0 or -ENOMEM. */
int lock_events_start(void);

#endif
