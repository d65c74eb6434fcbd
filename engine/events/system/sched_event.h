/* SPDX-License-Identifier: MIT */
/* The system `sched` of every process. */
#ifndef VESTIGE_EVENTS_SYSTEM_SCHED_EVENT_H
#define VESTIGE_EVENTS_SYSTEM_SCHED_EVENT_H

/* The calling thread ends. Any context. */
void sched_event_exit(void);

#endif
