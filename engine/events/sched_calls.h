/* SPDX-License-Identifier: MIT */
/* Calls of libc's functions by which a program makes, awaits and ends processes. */
#ifndef VESTIGE_EVENTS_SCHED_CALLS_H
#define VESTIGE_EVENTS_SCHED_CALLS_H

/*
 * See those that make processes, those that wait for them, or those that end this one past its
 * destructors; or no more. Under the tree's lock. Return: 0 or -errno.
 */
int sched_calls_fork(int on);
int sched_calls_wait(int on);
int sched_calls_exit(int on);

#endif
