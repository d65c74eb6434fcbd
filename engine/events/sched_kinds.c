/* SPDX-License-Identifier: MIT */
/* See sched_kinds.h: formats as Linux 6.12 has them. Tests: tests/engine/events/sched. */
#include "engine/events/sched_kinds.h"

#include "engine/events/sched_perf.h"
#include "engine/events/signal_record.h"

struct wakeup_record {
	struct own_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
	int32_t target_cpu;
};

struct runtime_record {
	struct own_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	uint64_t runtime;
};

struct free_record {
	struct own_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
};

static const struct vestige_event_field switch_fields[] = {
	OWN_FIELD(struct sched_switch_record, prev_comm, "char[16]", 0),
	OWN_FIELD(struct sched_switch_record, prev_pid, "pid_t", 1),
	OWN_FIELD(struct sched_switch_record, prev_prio, "int", 1),
	OWN_FIELD(struct sched_switch_record, prev_state, "long", 1),
	OWN_FIELD(struct sched_switch_record, next_comm, "char[16]", 0),
	OWN_FIELD(struct sched_switch_record, next_pid, "pid_t", 1),
	OWN_FIELD(struct sched_switch_record, next_prio, "int", 1),
	OWN_FIELDS_END,
};
static const struct vestige_event_field wakeup_fields[] = {
	OWN_FIELD(struct wakeup_record, comm, "char[16]", 0),
	OWN_FIELD(struct wakeup_record, pid, "pid_t", 1),
	OWN_FIELD(struct wakeup_record, prio, "int", 1),
	OWN_FIELD(struct wakeup_record, target_cpu, "int", 1),
	OWN_FIELDS_END,
};
static const struct vestige_event_field runtime_fields[] = {
	OWN_FIELD(struct runtime_record, comm, "char[16]", 0),
	OWN_FIELD(struct runtime_record, pid, "pid_t", 1),
	OWN_FIELD(struct runtime_record, runtime, "u64", 0),
	OWN_FIELDS_END,
};
static const struct vestige_event_field free_fields[] = {
	OWN_FIELD(struct free_record, comm, "char[16]", 0),
	OWN_FIELD(struct free_record, pid, "pid_t", 1),
	OWN_FIELD(struct free_record, prio, "int", 1),
	OWN_FIELDS_END,
};

#define STATES                                                                                     \
	"(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "        \
	"0x00000020 | 0x00000040) + 1) << 1)"
#define SWITCH_PRINT                                                                               \
	"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "    \
	"next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & "       \
	"(" STATES " - 1)) ? __print_flags(REC->prev_state & (" STATES " - 1), \"|\", "            \
	"{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "                    \
	"{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "                    \
	"{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & " STATES         \
	" ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio"
#define WAKEUP_PRINT                                                                               \
	"\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "             \
	"REC->target_cpu"

#define RUNTIME_PRINT                                                                              \
	"\"comm=%s pid=%d runtime=%Lu [ns]\", REC->comm, REC->pid, (unsigned long "                \
	"long)REC->runtime"
#define FREE_PRINT "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"

struct own_event sched_rows[NR_SCHED_ROWS] = {
	[SCHED_SWITCH] = {"sched", "sched_switch", switch_fields, SWITCH_PRINT, sched_perf_enable},
	[SCHED_WAKING] = {"sched", "sched_waking", wakeup_fields, WAKEUP_PRINT, sched_perf_enable},
	[SCHED_WAKEUP] = {"sched", "sched_wakeup", wakeup_fields, WAKEUP_PRINT, sched_perf_enable},
	[SCHED_WAKEUP_NEW] = {"sched", "sched_wakeup_new", wakeup_fields, WAKEUP_PRINT,
			      sched_perf_enable},
	[SCHED_RUNTIME] = {"sched", "sched_stat_runtime", runtime_fields, RUNTIME_PRINT,
			   sched_perf_enable},
	[SCHED_FREE] = {"sched", "sched_process_free", free_fields, FREE_PRINT, sched_perf_enable},
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
		return ((const struct wakeup_record *)record)->pid;
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
