/* SPDX-License-Identifier: MIT */
/*
 * The threads whose scheduling is recorded: this process's threads and the processes that it makes,
 * by the kernel's records of their start and end, in order of time; and a filter that passes the
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

/* Whether the processes that this one makes from now on are wanted. */
void sched_threads_children(int want);

/* The kind of @tid; 0: not ours. An ended thread keeps its kind until another has its id. */
uint32_t sched_threads_find(int tid);

/* No more records of it will come. */
void sched_threads_freed(int tid);

/*
 * sched_threads_newest() - the id that the kernel gave last: a filter made for it passes all
 * threads that are made later, unless ids begin anew at the lowest. sched_threads_filter() - write
 * the filter for the threads that are known by now. @fields: the tracepoint's fields that hold a
 * thread's id; one that matches is enough; NULL ends them.
 */
uint32_t sched_threads_newest(void);
void sched_threads_filter(char *text, const char *const *fields, uint32_t newest);

/* Whether the last filter lacks a thread that came since. */
int sched_threads_missed(void);

/* In a fork's child: none is known. */
void sched_threads_fork(void);

#endif
