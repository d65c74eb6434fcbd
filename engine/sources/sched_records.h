/* SPDX-License-Identifier: MIT */
/*
 * From perf's records to calls of the listeners in sched_perf.h: switches that are one record of two
 * halves, samples in our format, each event once. All of it is the agent's, under the tree's lock.
 */
#ifndef VESTIGE_SOURCES_SCHED_RECORDS_H
#define VESTIGE_SOURCES_SCHED_RECORDS_H

#include <stdint.h>

#include "engine/sources/kernel_event.h"
#include "engine/sources/perf_kinds.h"

struct perf_record;

/* How a kind is open: by a tracepoint of all CPUs, or of our threads, or by another way. */
enum sched_how { SCHED_CLOSED, SCHED_BY_CPUS, SCHED_BY_THREADS, SCHED_BY_OTHER };

struct sched_open {
	uint8_t how;			   /* enum sched_how */
	struct kernel_event_places places; /* of its tracepoint's fields */
};

/* By enum sched_kind. sched_perf.c sets it: how a kind is open decides how its records are read. */
extern struct sched_open sched_open[NR_SCHED_KINDS];

/* Get memory. Before a kind is opened. Return: 0 or -ENOMEM. */
int sched_records_start(void);

/* Report @rec, which is of one of our kinds, of SCHED_TASKS, or says that records were lost. */
void sched_records_one(const struct perf_record *rec);

/*
 * Report the threads that left a CPU and that no thread of ours followed. @all: also those that left
 * just now, as no more records will come.
 */
void sched_records_end(int all);

/* In a child of fork: its CPUs have no history. */
void sched_records_fork(void);

/*
 * Samples that passed a filter but are about no thread of ours, since the filters were made. The
 * second function says that they are made anew.
 */
uint32_t sched_records_strangers(void);
void sched_records_refiltered(void);

/* @tid's name, of TASK_COMM_BYTES, to @comm; 0: the idle task of @cpu. */
void sched_records_comm(int tid, uint32_t cpu, char *comm);

#endif
