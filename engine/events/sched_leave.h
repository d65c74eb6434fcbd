/* SPDX-License-Identifier: MIT */
/* What the kernel has told of a process's last moments is written before it ends or executes another program. */
#ifndef VESTIGE_EVENTS_SCHED_LEAVE_H
#define VESTIGE_EVENTS_SCHED_LEAVE_H

/* The tree's lock, under which sched_perf_drain() is called; @try: whether it was had. Constructor context. */
void sched_leave_use_lock(int (*try)(void), void (*release)(void));

/* See the calls that end the process's memory, or no more. Under the tree's lock. */
void sched_leave_see(int on);

#endif
