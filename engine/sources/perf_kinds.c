/* SPDX-License-Identifier: MIT */
/* See perf_kinds.h: formats as Linux 6.12 has them. Tests: tests/engine/events/sched. */
#include "engine/sources/perf_kinds.h"

#include "engine/sources/signal_record.h"

struct runtime_record {
	struct builtin_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	uint64_t runtime;
};

struct free_record {
	struct builtin_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
};

const struct vestige_event_field sched_switch_fields[] = {
	BUILTIN_FIELD(struct sched_switch_record, prev_comm, "char[16]", 0),
	BUILTIN_FIELD(struct sched_switch_record, prev_pid, "pid_t", 1),
	BUILTIN_FIELD(struct sched_switch_record, prev_prio, "int", 1),
	BUILTIN_FIELD(struct sched_switch_record, prev_state, "long", 1),
	BUILTIN_FIELD(struct sched_switch_record, next_comm, "char[16]", 0),
	BUILTIN_FIELD(struct sched_switch_record, next_pid, "pid_t", 1),
	BUILTIN_FIELD(struct sched_switch_record, next_prio, "int", 1),
	BUILTIN_FIELDS_END,
};
const struct vestige_event_field sched_wakeup_fields[] = {
	BUILTIN_FIELD(struct sched_wakeup_record, comm, "char[16]", 0),
	BUILTIN_FIELD(struct sched_wakeup_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct sched_wakeup_record, prio, "int", 1),
	BUILTIN_FIELD(struct sched_wakeup_record, target_cpu, "int", 1),
	BUILTIN_FIELDS_END,
};
const struct vestige_event_field sched_runtime_fields[] = {
	BUILTIN_FIELD(struct runtime_record, comm, "char[16]", 0),
	BUILTIN_FIELD(struct runtime_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct runtime_record, runtime, "u64", 0),
	BUILTIN_FIELDS_END,
};
const struct vestige_event_field sched_free_fields[] = {
	BUILTIN_FIELD(struct free_record, comm, "char[16]", 0),
	BUILTIN_FIELD(struct free_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct free_record, prio, "int", 1),
	BUILTIN_FIELDS_END,
};

const struct vestige_event_field signal_generate_fields[] = {
	BUILTIN_FIELD(struct signal_generate_record, sig, "int", 1),
	BUILTIN_FIELD_AS(struct signal_generate_record, error, "errno", "int", 1),
	BUILTIN_FIELD(struct signal_generate_record, code, "int", 1),
	BUILTIN_FIELD(struct signal_generate_record, comm, "char[16]", 0),
	BUILTIN_FIELD(struct signal_generate_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct signal_generate_record, group, "int", 1),
	BUILTIN_FIELD(struct signal_generate_record, result, "int", 1),
	BUILTIN_FIELDS_END,
};
const struct vestige_event_field signal_deliver_fields[] = {
	BUILTIN_FIELD(struct signal_deliver_record, sig, "int", 1),
	BUILTIN_FIELD_AS(struct signal_deliver_record, error, "errno", "int", 1),
	BUILTIN_FIELD(struct signal_deliver_record, code, "int", 1),
	BUILTIN_FIELD_AS(struct signal_deliver_record, handler, "sa_handler", "unsigned long", 0),
	BUILTIN_FIELD_AS(struct signal_deliver_record, flags, "sa_flags", "unsigned long", 0),
	BUILTIN_FIELDS_END,
};

const struct kernel_tracepoint sched_tracepoints[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = {"sched", "sched_switch", sched_switch_fields},
	[SCHED_WAKING] = {"sched", "sched_waking", sched_wakeup_fields},
	[SCHED_WAKEUP] = {"sched", "sched_wakeup", sched_wakeup_fields},
	[SCHED_WAKEUP_NEW] = {"sched", "sched_wakeup_new", sched_wakeup_fields},
	[SCHED_RUNTIME] = {"sched", "sched_stat_runtime", sched_runtime_fields},
	[SCHED_FREE] = {"sched", "sched_process_free", sched_free_fields},
	[SCHED_GENERATE] = {"signal", "signal_generate", signal_generate_fields},
	[SCHED_DELIVER] = {"signal", "signal_deliver", signal_deliver_fields},
};

static const char *const by_both[] = {"prev_pid", "next_pid", NULL};
static const char *const by_pid[] = {"common_pid", "pid", NULL};
static const char *const by_itself[] = {"common_pid", NULL};
static const char *const by_another[] = {"pid", NULL};

const char *const *const sched_whom[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = by_both,    [SCHED_WAKING] = by_pid,	  [SCHED_WAKEUP] = by_pid,
	[SCHED_WAKEUP_NEW] = by_pid, [SCHED_RUNTIME] = by_pid,	  [SCHED_FREE] = by_another,
	[SCHED_GENERATE] = by_pid,   [SCHED_DELIVER] = by_itself,
};

int sched_other_of(uint32_t kind, const void *record, int tid)
{
	switch (kind) {
	case SCHED_SWITCH:
		return ((const struct sched_switch_record *)record)->next_pid;
	case SCHED_WAKING:
	case SCHED_WAKEUP:
	case SCHED_WAKEUP_NEW:
		return ((const struct sched_wakeup_record *)record)->pid;
	case SCHED_RUNTIME:
		return ((const struct runtime_record *)record)->pid;
	case SCHED_FREE:
		return ((const struct free_record *)record)->pid;
	case SCHED_GENERATE:
		return ((const struct signal_generate_record *)record)->pid;
	default:
		return tid;
	}
}
