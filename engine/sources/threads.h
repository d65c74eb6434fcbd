/* SPDX-License-Identifier: MIT */
/*
 * The threads whose scheduling is recorded: those of this process, and the processes that it makes,
 * by the kernel's records of their begin and end, in order of time; and a filter that passes the
 * kernel's events of these and few others. The agent's thread is not among them. All under the tree
 * lock; the filter is the agent's alone.
 */
#ifndef VESTIGE_SOURCES_THREADS_H
#define VESTIGE_SOURCES_THREADS_H

#include <stdint.h>

#include "engine/process/perf.h"

#define SCHED_FILTER_BYTES 2048u

/*
 * sched_threads_start() - the threads that exist. The kernel's records of others come to
 * sched_threads_see() from before this call on. Return: 0 or -errno.
 */
int sched_threads_start(int agent);
void sched_threads_stop(void);

/* PERF_RECORD_FORK and PERF_RECORD_EXIT. */
void sched_threads_see(const struct perf_record *rec);

enum { SCHED_THREAD = 1, SCHED_CHILD = 2 };

/* Whether the processes that this one makes are wanted: those of later. */
void sched_threads_children(int want);

/* What @tid is to us; 0: nothing. One that has ended is still what it was, until another has its
 * id. */
uint32_t sched_threads_find(int tid);

/* Nothing of it comes any more. */
void sched_threads_freed(int tid);

/*
 * sched_threads_newest() - the id that the kernel gave last: a filter made for it lets all pass
 * that are made later, but for ids that begin anew at the lowest. sched_threads_filter() is of
 * those that are known by now. @fields: the tracepoint's that hold a thread's id, of which one is
 * enough; NULL ends them.
 */
uint32_t sched_threads_newest(void);
void sched_threads_filter(char *text, const char *const *fields, uint32_t newest);

/* Whether the last filter lacks one of those that came since. */
int sched_threads_missed(void);

/* In a fork's child: none is known. */
void sched_threads_fork(void);

#endif
