/* SPDX-License-Identifier: MIT */
/* The system `timer` of every process: its timers and sleeps. */
#ifndef VESTIGE_EVENTS_TIMER_EVENT_H
#define VESTIGE_EVENTS_TIMER_EVENT_H

/* Register the events, where they can be seen. Constructor context. Return: 0 or -ENOMEM. */
int timer_events_start(void);

#endif
