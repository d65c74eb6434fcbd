/* SPDX-License-Identifier: MIT */
/*
 * The life of threads and processes in the events sched_process_*, with the kernel's fields (6.12).
 * The acting thread makes each record: the creator after it has made a thread, a thread in its last
 * destructor or in exit(), a program at its start. fork: the child goes on with the same events.
 * Tests: tests/engine/events/sched.
 */
#include "engine/events/system/sched_event.h"

#include <sys/auxv.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/events/builtin_event.h"
#include "engine/sources/process.h"
#include "engine/sources/task.h"
#include "engine/ring/ring.h"

#define MAX_PATH 512u

struct process_record {
	struct builtin_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
};

struct fork_record {
	struct builtin_record head;
	char parent_comm[TASK_COMM_BYTES];
	int32_t parent_pid;
	char child_comm[TASK_COMM_BYTES];
	int32_t child_pid;
};

struct exec_record {
	struct builtin_record head;
	uint32_t filename;
	int32_t pid;
	int32_t old_pid;
	char text[MAX_PATH];
};

static const struct vestige_event_field process_fields[] = {
	BUILTIN_FIELD(struct process_record, comm, "char[16]", 0),
	BUILTIN_FIELD(struct process_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct process_record, prio, "int", 1),
	BUILTIN_FIELDS_END,
};
static const struct vestige_event_field fork_fields[] = {
	BUILTIN_FIELD(struct fork_record, parent_comm, "char[16]", 0),
	BUILTIN_FIELD(struct fork_record, parent_pid, "pid_t", 1),
	BUILTIN_FIELD(struct fork_record, child_comm, "char[16]", 0),
	BUILTIN_FIELD(struct fork_record, child_pid, "pid_t", 1),
	BUILTIN_FIELDS_END,
};
static const struct vestige_event_field exec_fields[] = {
	BUILTIN_FIELD(struct exec_record, filename, "__data_loc char[]", 0),
	BUILTIN_FIELD(struct exec_record, pid, "pid_t", 1),
	BUILTIN_FIELD(struct exec_record, old_pid, "pid_t", 1),
	BUILTIN_FIELDS_END,
};

static int watch(struct builtin_event *e, int on);

enum { PROCESS_FORK, PROCESS_EXEC, PROCESS_EXIT, PROCESS_WAIT };

#define PROCESS_PRINT "\"comm=%s pid=%d prio=%d\", REC->comm, REC->pid, REC->prio"

static struct builtin_event rows[] = {
	[PROCESS_FORK] = {.system = "sched",
			  .name = "sched_process_fork",
			  .fields = fork_fields,
			  .print_fmt = "\"comm=%s pid=%d child_comm=%s child_pid=%d\", "
				       "REC->parent_comm, REC->parent_pid, REC->child_comm, "
				       "REC->child_pid",
			  .enable = watch},
	[PROCESS_EXEC] = {.system = "sched",
			  .name = "sched_process_exec",
			  .fields = exec_fields,
			  .print_fmt = "\"filename=%s pid=%d old_pid=%d\", __get_str(filename), "
				       "REC->pid, REC->old_pid"},
	[PROCESS_EXIT] = {.system = "sched",
			  .name = "sched_process_exit",
			  .fields = process_fields,
			  .print_fmt = PROCESS_PRINT,
			  .enable = watch},
	[PROCESS_WAIT] = {.system = "sched",
			  .name = "sched_process_wait",
			  .fields = process_fields,
			  .print_fmt = PROCESS_PRINT,
			  .enable = watch},
};

/* The exit was recorded: a thread that ends in exit() may have run its destructors before. */
static __thread int told_exit __attribute__((tls_model("initial-exec")));

static void note_fork(int child)
{
	struct fork_record rec = {.parent_pid = sched_task_own_tid(), .child_pid = child};
	int32_t prio;

	sched_task_own(rec.parent_comm, &prio);
	memcpy(rec.child_comm, rec.parent_comm, sizeof(rec.child_comm));
	builtin_event_write(&rows[PROCESS_FORK], &rec, sizeof(rec));
}

void sched_event_exit(void)
{
	struct process_record rec = {.pid = sched_task_own_tid()};

	if (!builtin_event_is_on(&rows[PROCESS_EXIT]) || told_exit)
		return;
	/* a vfork's child has this memory, and ends by itself */
	told_exit = rec.pid == ring_thread_id();
	sched_task_own(rec.comm, &rec.prio);
	builtin_event_write(&rows[PROCESS_EXIT], &rec, sizeof(rec));
}

static void note_wait(int pid)
{
	struct process_record rec = {.pid = pid};

	sched_task_own(rec.comm, &rec.prio);
	builtin_event_write(&rows[PROCESS_WAIT], &rec, sizeof(rec));
}

static int watch(struct builtin_event *e, int on)
{
	static struct process_listener on_fork = {.call = note_fork}, on_wait = {.call = note_wait};
	static struct process_end_listener on_end = {.call = sched_event_exit};

	if (e == &rows[PROCESS_FORK])
		return source_switch(&process_forks, &on_fork.link, on);
	if (e == &rows[PROCESS_WAIT])
		return source_switch(&process_waits, &on_wait.link, on);
	return source_switch(&process_ends, &on_end.link, on);
}

/* Record that this program was just executed, if the event is on from the beginning. */
static void record_exec(const struct lifecycle_start *how)
{
	const char *path = (const char *)getauxval(AT_EXECFN);
	struct exec_record rec = {.pid = sys_getpid(), .old_pid = sys_getpid()};
	uint32_t bytes;

	(void)how;
	if (!builtin_event_is_on(&rows[PROCESS_EXEC]))
		return;
	bytes = (uint32_t)str_copy(rec.text, sizeof(rec.text), path ? path : "") + 1;
	rec.filename = BUILTIN_DATA_LOC(offsetof(struct exec_record, text), bytes);
	builtin_event_write(&rows[PROCESS_EXEC], &rec,
			    (uint32_t)offsetof(struct exec_record, text) + bytes);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	builtin_events_add(rows, ARRAY_SIZE(rows));
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
LIFECYCLE(LIFECYCLE_LIVE, record_exec, NULL, NULL);
