/* SPDX-License-Identifier: MIT */
/*
 * Events of this process's threads that only the kernel sees, by perf: one source a kind
 * (perf_kinds.h). The agent calls the listeners, under the tree's lock, with ring_as set to the
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
	const struct ring_as *as; /* the thread, and the time as a stamp */
	uint64_t ns;		  /* the same in CLOCK_MONOTONIC */
	const void *record;	  /* as the kind has it, in our format */
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

/* By enum sched_kind. */
extern struct source sched_sources[NR_SCHED_KINDS];

/* Records of a CPU were lost, of any kind that is open: a ring counts them once. */
struct sched_loss {
	uint32_t cpu;
	uint64_t nr;
	uint64_t counted; /* rings that did, a bit each */
};

struct sched_lost_listener {
	struct source_link link;
	void (*call)(struct sched_loss *loss);
};

/* For a listener: ring @r had one of the kinds on. */
void sched_count_loss(struct sched_loss *loss, struct ring *r);

extern struct source sched_lost;

/*
 * Another source whose events the agent opens and reads. Each operation gets the user itself.
 * perf_group.h has the operations for kinds that are open all together or not at all.
 */
struct perf_user {
	/*
	 * Its kinds, as perf.h numbers them; their records come by the same rings. @nr 0: it has none,
	 * and is_open() and record() are not called.
	 */
	uint32_t first, nr;
	/* Open and close events as is wanted now. The agent. */
	void (*apply)(const struct perf_user *user);
	int (*wanted)(const struct perf_user *user);  /* whether anything is */
	int (*is_open)(const struct perf_user *user); /* whether anything is open */
	/* Nothing is open any more: a fork's child, or the agent has ended. */
	void (*forget)(const struct perf_user *user);
	/* One has come; ring_as is the thread that made it. */
	void (*record)(const struct perf_record *rec);
};

/* @user stays for ever. Constructor context. */
void sched_perf_add(const struct perf_user *user);

/* The agent is to call apply(). Return: 1: the caller is the agent and may do it; 0: soon; -ENODEV:
 * there is no agent. */
int sched_perf_ask(void);

/* @wake: makes the agent call sched_perf_work(). Constructor context. */
void sched_perf_wake_by(void (*wake)(void));

/*
 * sched_perf_instead() - another way to see a kind where the kernel's tracepoint may not be opened,
 * by any thread. @see: begins and ends it; it calls no listener. At LIFECYCLE_SYSTEM.
 */
void sched_perf_instead(uint32_t kind, int (*see)(int on));

/*
 * sched_perf_refused() - why the kernel's tracepoints cannot be opened for this process; NULL: they
 * can, as far as may be said without trying. Any time; some system calls.
 */
const char *sched_perf_refused(void);

/* The same of context switches, which need no tracepoint; and of what whole CPUs do. */
const char *sched_perf_no_switches(void);
const char *sched_perf_no_cpus(void);

/*
 * sched_perf_want_stacks() - have the stacks of waking threads (@on 1), or no longer, in events
 * that are opened from now on. Under the tree's lock.
 */
#define SCHED_FRAMES 16u
void sched_perf_want_stacks(int on);

/* The calling thread is the agent; or there will be none, and events that need it are refused. */
void sched_perf_agent(void);
void sched_perf_no_agent(void);

/*
 * sched_perf_work() - open and close what was asked for, and write what has come. The agent, under
 * the tree's lock. Return: in how many ms it wants to be called again; -1: only when it is woken.
 */
int sched_perf_work(void);

/* Descriptors that the agent waits for beside its own. Return: how many, at most @max. */
uint32_t sched_perf_descriptors(int *fds, uint32_t max);

/* Write what has come. Any thread, under the tree's lock; nothing where no such event is on. */
void sched_perf_drain(void);

/*
 * The agent ends: its events are read and closed; another agent opens them again. The agent, under
 * the tree's lock.
 */
void sched_perf_stop(void);

#endif
