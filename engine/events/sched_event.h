/* SPDX-License-Identifier: MIT */
/* The system `sched` of every process. */
#ifndef VESTIGE_EVENTS_SCHED_EVENT_H
#define VESTIGE_EVENTS_SCHED_EVENT_H

/* Register the events. Constructor context. Return: 0 or -ENOMEM. */
int sched_events_start(void);

/* This program was just executed: a record of it, if one is wanted from the beginning. */
void sched_event_exec(void);

/* The calling thread ends. Any context. */
void sched_event_exit(void);

/* It has made the thread or process @child; it begins to wait for the process @pid, 0: any. Any context. */
void sched_event_fork(int child);
void sched_event_wait(int pid);

#endif
