/* SPDX-License-Identifier: MIT */
/*
 * Events of this process's threads that only the kernel sees, through perf: one source for each
 * kind (perf_kinds.h). The agent calls the listeners, under the tree lock, with ring_as set to the
 * acting thread.
 */
#ifndef VESTIGE_SOURCES_SCHED_PERF_H
#define VESTIGE_SOURCES_SCHED_PERF_H

#include <stdint.h>

#include "engine/sources/perf_kinds.h"
#include "engine/sources/source.h"

struct perf_record;
struct ring;
struct ring_as;

struct sched_call {
	uint32_t kind;
	const struct ring_as *as; /* the acting thread, and the time as a stamp */
	uint64_t ns;		  /* the time, CLOCK_MONOTONIC */
	const void *record;	  /* struct of the kind, in our format */
	uint32_t bytes;
	/*
	 * the acting thread's stack, innermost first, if sched_perf_want_stacks() is on and the
	 * thread is ours
	 */
	const uint64_t *frames;
	uint32_t nr_frames;
};

struct sched_listener {
	struct source_link link;
	void (*call)(const struct sched_call *c);
};

/* Indexed by enum sched_kind. */
extern struct source sched_sources[NR_SCHED_KINDS];

/*
 * Records of a CPU were lost, of any of the open kinds. sched_count_loss() counts them once in each
 * ring.
 */
struct sched_loss {
	uint32_t cpu;
	uint64_t nr;
	uint64_t counted; /* a bit for each ring that has counted them */
};

struct sched_lost_listener {
	struct source_link link;
	void (*call)(struct sched_loss *loss);
};

/* For a listener that has a kind on in ring @r: count the loss there. */
void sched_count_loss(struct sched_loss *loss, struct ring *r);

extern struct source sched_lost;

/*
 * Another source whose events the agent opens and reads. Each operation gets the user itself.
 * perf_group.h has the operations for kinds that are opened all together or not at all.
 */
struct perf_user {
	/*
	 * Its kinds, numbered as in perf.h; their records come through the same rings. @nr 0: it
	 * has none, and is_open() and record() are not called.
	 */
	uint32_t first, nr;
	/* Open and close events as is wanted now. In the agent. */
	void (*apply)(const struct perf_user *user);
	int (*wanted)(const struct perf_user *user);  /* whether it wants any events */
	int (*is_open)(const struct perf_user *user); /* whether any are open */
	/* Forget what is open: a fork's child, or the agent has ended. */
	void (*forget)(const struct perf_user *user);
	/* A record has come; ring_as is the thread that made it. */
	void (*record)(const struct perf_record *rec);
};

/* Add @user, which stays for ever. Constructor context. */
void sched_perf_add(const struct perf_user *user);

/*
 * Ask the agent to call apply(). Return: 1: the caller is the agent and may do it; 0: the agent
 * does it soon; -ENODEV: there is no agent.
 */
int sched_perf_ask(void);

/* @wake: makes the agent call sched_perf_work(). Constructor context. */
void sched_perf_wake_by(void (*wake)(void));

/*
 * sched_perf_instead() - set another way to see a kind, from any thread, where the kernel's
 * tracepoint may not be opened. @see: starts (1) or stops (0) it; it calls no listener. At
 * LIFECYCLE_SYSTEM.
 */
void sched_perf_instead(uint32_t kind, int (*see)(int on));

/*
 * sched_perf_refused() - why this process cannot open the kernel's tracepoints; NULL: it can, as
 * far as is known without trying. Any time; makes some system calls.
 */
const char *sched_perf_refused(void);

/*
 * As sched_perf_refused(): for context switches, which need no tracepoint; and for events of whole
 * CPUs.
 */
const char *sched_perf_no_switches(void);
const char *sched_perf_no_cpus(void);

/*
 * sched_perf_want_stacks() - @on: 1: events that are opened from now on have the stacks of waking
 * threads; 0: no longer. Under the tree lock.
 */
#define SCHED_FRAMES 16u
void sched_perf_want_stacks(int on);

/*
 * The calling thread is the agent. sched_perf_no_agent(): there will be no agent, and events that
 * need it are refused.
 */
void sched_perf_agent(void);
void sched_perf_no_agent(void);

/*
 * sched_perf_work() - open and close what was asked for, and write the records that have come. The
 * agent, under the tree lock. Return: the time in ms until it wants to be called again; -1: only
 * when it is woken.
 */
int sched_perf_work(void);

/* Descriptors that the agent must also wait for. Return: how many, at most @max. */
uint32_t sched_perf_descriptors(int *fds, uint32_t max);

/*
 * Write the records that have come. Any thread, under the tree lock; cheap if no such event is on.
 */
void sched_perf_drain(void);

/*
 * The agent ends: read its events and close them; another agent opens them again. The agent, under
 * the tree lock.
 */
void sched_perf_stop(void);

#endif
