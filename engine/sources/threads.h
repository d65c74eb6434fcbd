/* SPDX-License-Identifier: MIT */
/*
 * The threads whose scheduling is recorded: this process's threads and the processes that it makes.
 * They are known from the kernel's records of their start and end, in order of time. A filter
 * passes the kernel's events of these threads and of few others. The agent's thread is not among
 * them. All under the tree lock; the filter is the agent's alone.
 */
#ifndef VESTIGE_SOURCES_THREADS_H
#define VESTIGE_SOURCES_THREADS_H

#include <stdint.h>

#include "engine/process/perf.h"

#define SCHED_FILTER_BYTES 2048u

/*
 * sched_threads_start() - read which threads exist. From before this call on, the kernel's records
 * of other threads must go to sched_threads_see(). @agent: the agent's thread id. Return: 0 or
 * -errno.
 */
int sched_threads_start(int agent);
void sched_threads_stop(void);

/* Take in a PERF_RECORD_FORK or PERF_RECORD_EXIT. */
void sched_threads_see(const struct perf_record *rec);

enum { SCHED_THREAD = 1, SCHED_CHILD = 2 };

/* Whether to record the processes that this one makes from now on. */
void sched_threads_children(int want);

/*
 * The kind of thread @tid; 0: it is not recorded. An ended thread keeps its kind until its id is
 * used again.
 */
uint32_t sched_threads_find(int tid);

/* Drop a thread or process: no more records of it will come. */
void sched_threads_freed(int tid);

/*
 * sched_threads_newest() - the id that the kernel gave last. A filter made for it passes all
 * threads that are made later, unless ids start again at the lowest. sched_threads_filter() - write
 * the filter for the threads that are known now into @text, SCHED_FILTER_BYTES. @fields: the
 * tracepoint's fields that have a thread's id, ended by NULL; a record passes if one of them
 * matches.
 */
uint32_t sched_threads_newest(void);
void sched_threads_filter(char *text, const char *const *fields, uint32_t newest);

/* Whether the last filter lacks a thread that was made since. */
int sched_threads_missed(void);

/* In a fork's child: forget all threads. */
void sched_threads_fork(void);

#endif
