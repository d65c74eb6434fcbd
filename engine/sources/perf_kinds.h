/* SPDX-License-Identifier: MIT */
/*
 * The kinds of events about the process's threads that the kernel gives through perf: their
 * formats, and the thread that each is about.
 */
#ifndef VESTIGE_SOURCES_PERF_KINDS_H
#define VESTIGE_SOURCES_PERF_KINDS_H

#include "engine/core/builtin_record.h"
#include "engine/sources/kernel_event.h"
#include "engine/sources/task.h"

enum sched_kind {
	SCHED_SWITCH,
	SCHED_WAKING,
	SCHED_WAKEUP,
	SCHED_WAKEUP_NEW,
	SCHED_RUNTIME,
	SCHED_FREE,
	SCHED_GENERATE, /* a signal */
	SCHED_DELIVER,
	NR_SCHED_KINDS,
	SCHED_TASKS = NR_SCHED_KINDS, /* no event: threads begin and end */
};

struct sched_switch_record {
	struct builtin_record head;
	char prev_comm[TASK_COMM_BYTES];
	int32_t prev_pid;
	int32_t prev_prio;
	int64_t prev_state;
	char next_comm[TASK_COMM_BYTES];
	int32_t next_pid;
	int32_t next_prio;
};

struct sched_wakeup_record {
	struct builtin_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
	int32_t target_cpu;
};

/* Size of the largest record of all kinds. */
#define SCHED_RECORD_BYTES sizeof(struct sched_switch_record)

extern const struct vestige_event_field sched_switch_fields[], sched_wakeup_fields[],
	sched_runtime_fields[], sched_free_fields[], signal_generate_fields[],
	signal_deliver_fields[];

extern const struct kernel_tracepoint sched_tracepoints[NR_SCHED_KINDS];

/* The fields of the kernel's record that have ids of threads; ended by NULL. */
extern const char *const *const sched_whom[NR_SCHED_KINDS];

/* The second thread that a record is about, beside @tid, which made it; @tid if there is none. */
int sched_other_of(uint32_t kind, const void *record, int tid);

#endif
