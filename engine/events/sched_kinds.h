/* SPDX-License-Identifier: MIT */
/* The kinds of events that the kernel tells of our threads by perf: their rows, whom each is about. */
#ifndef VESTIGE_EVENTS_SCHED_KINDS_H
#define VESTIGE_EVENTS_SCHED_KINDS_H

#include "engine/events/own_event.h"
#include "engine/events/sched_task.h"

enum sched_kind {
	SCHED_SWITCH,
	SCHED_WAKING,
	SCHED_WAKEUP,
	SCHED_WAKEUP_NEW,
	SCHED_RUNTIME,
	SCHED_FREE,
	NR_SCHED_ROWS,
	SCHED_GENERATE = NR_SCHED_ROWS, /* a signal */
	SCHED_DELIVER,
	NR_SCHED_KINDS,
	SCHED_TASKS = NR_SCHED_KINDS, /* no event: who comes and goes */
};

struct sched_switch_record {
	struct own_record head;
	char prev_comm[TASK_COMM_BYTES];
	int32_t prev_pid;
	int32_t prev_prio;
	int64_t prev_state;
	char next_comm[TASK_COMM_BYTES];
	int32_t next_pid;
	int32_t next_prio;
};

/* The biggest of the kinds' records. */
#define SCHED_RECORD_BYTES sizeof(struct sched_switch_record)

extern struct own_event sched_rows[NR_SCHED_ROWS];

/* The fields of the kernel's that say whose record it is; NULL ends them. */
extern const char *const *const sched_whom[NR_SCHED_KINDS];

/* Whom a record is about beside @tid, the thread that made it; @tid: nobody. */
int sched_other_of(uint32_t kind, const void *record, int tid);

#endif
