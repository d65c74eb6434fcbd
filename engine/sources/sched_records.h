/* SPDX-License-Identifier: MIT */
/*
 * Turns perf's records into calls of the listeners of sched_perf.h: two halves of a switch become
 * one record, samples get our format, and each event is reported once. The agent alone, under the
 * tree lock.
 */
#ifndef VESTIGE_SOURCES_SCHED_RECORDS_H
#define VESTIGE_SOURCES_SCHED_RECORDS_H

#include <stdint.h>

#include "engine/sources/kernel_event.h"
#include "engine/sources/perf_kinds.h"

struct perf_record;

/*
 * How a kind is open: by a tracepoint on all CPUs, by a tracepoint on each thread, or in another
 * way.
 */
enum sched_how { SCHED_CLOSED, SCHED_BY_CPUS, SCHED_BY_THREADS, SCHED_BY_OTHER };

struct sched_open {
	uint8_t how;			   /* enum sched_how */
	struct kernel_event_places places; /* offsets of its tracepoint's fields */
};

/*
 * Indexed by enum sched_kind. sched_perf.c sets it; `how` decides how the kind's records are read.
 */
extern struct sched_open sched_open[NR_SCHED_KINDS];

/* Allocate memory. Before a kind is opened. Return: 0 or -ENOMEM. */
int sched_records_start(void);

/*
 * Report @rec: a record of one of these kinds or of SCHED_TASKS, or one that says that records were
 * lost.
 */
void sched_records_one(const struct perf_record *rec);

/*
 * Report the threads that left a CPU without a successor of this process. @all: also those that
 * left just now, as no more records will come.
 */
void sched_records_end(int all);

/* In a fork's child: no CPU has a history. */
void sched_records_fork(void);

/*
 * The number of samples since the filters were made that passed a filter but are about no thread of
 * this process. The second function says that new filters are made.
 */
uint32_t sched_records_strangers(void);
void sched_records_refiltered(void);

/* Copy the name of thread @tid, TASK_COMM_BYTES, to @comm; 0: the idle task of @cpu. */
void sched_records_comm(int tid, uint32_t cpu, char *comm);

#endif
