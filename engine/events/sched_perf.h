/* SPDX-License-Identifier: MIT */
/* Events of this process's threads that the kernel alone sees, by perf: see sched_perf.c. */
#ifndef VESTIGE_EVENTS_SCHED_PERF_H
#define VESTIGE_EVENTS_SCHED_PERF_H

#include <stdint.h>

struct own_event;

/* Register the events. @wake: makes the agent call sched_perf_work(). Constructor context. */
int sched_perf_start(void (*wake)(void));

/* own_event.enable of each of them. */
int sched_perf_enable(struct own_event *e, int on);

/* The calling thread is the agent; or there will be none: what needs it is refused. */
void sched_perf_agent(void);
void sched_perf_no_agent(void);

/*
 * sched_perf_work() - open and close what was asked for, and write what has come. The agent, under the
 * tree's lock. Return: in how many ms it wants to be called again; -1: when it is woken.
 */
int sched_perf_work(void);

/*
 * sched_perf_settle() - wait until the agent, just started, has opened what is wanted, so that nothing
 * of the program's start is missed; a fifth of a second at most. Not under the tree's lock.
 */
void sched_perf_settle(void);

/* Descriptors that the agent waits for beside its own. Return: how many, at most @max. */
uint32_t sched_perf_descriptors(int *fds, uint32_t max);

/* Write what has come. Any thread, under the tree's lock; nothing where no such event is on. */
void sched_perf_drain(void);

/* In a fork's child: its agent opens what is on. */
void sched_perf_fork(void);

#endif
