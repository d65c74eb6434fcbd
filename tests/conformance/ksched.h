/* SPDX-License-Identifier: MIT */
/* Events of the names and fields that the kernel's test cases look for. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched

#if !defined(CONFORMANCE_SCHED_H) || defined(TRACE_HEADER_MULTI_READ)
#define CONFORMANCE_SCHED_H

#include <string.h>
#include <vestige/tracepoint.h>

/* clang-format off */
TRACE_EVENT(sched_switch,
	TP_PROTO(const char *prev, int prev_pid, const char *next, int next_pid),
	TP_ARGS(prev, prev_pid, next, next_pid),
	TP_STRUCT__entry(
		__array(char, prev_comm, 16)
		__field(int, prev_pid)
		__field(int, prev_prio)
		__field(long, prev_state)
		__array(char, next_comm, 16)
		__field(int, next_pid)
		__field(int, next_prio)
	),
	TP_fast_assign(
		strncpy(__entry->prev_comm, prev, 15);
		__entry->prev_pid = prev_pid;
		__entry->prev_prio = 120;
		__entry->prev_state = 0;
		strncpy(__entry->next_comm, next, 15);
		__entry->next_pid = next_pid;
		__entry->next_prio = 120;
	),
	TP_printk("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%ld ==> next_comm=%s next_pid=%d next_prio=%d",
		  __entry->prev_comm, __entry->prev_pid, __entry->prev_prio, __entry->prev_state,
		  __entry->next_comm, __entry->next_pid, __entry->next_prio)
);

DECLARE_EVENT_CLASS(sched_wakeup_template,
	TP_PROTO(const char *task, int pid, int cpu),
	TP_ARGS(task, pid, cpu),
	TP_STRUCT__entry(
		__array(char, comm, 16)
		__field(int, pid)
		__field(int, prio)
		__field(int, target_cpu)
	),
	TP_fast_assign(
		strncpy(__entry->comm, task, 15);
		__entry->pid = pid;
		__entry->prio = 120;
		__entry->target_cpu = cpu;
	),
	TP_printk("comm=%s pid=%d prio=%d target_cpu=%03d", __entry->comm, __entry->pid,
		  __entry->prio, __entry->target_cpu)
);

DEFINE_EVENT(sched_wakeup_template, sched_waking,
	TP_PROTO(const char *task, int pid, int cpu),
	TP_ARGS(task, pid, cpu)
);

DEFINE_EVENT(sched_wakeup_template, sched_wakeup,
	TP_PROTO(const char *task, int pid, int cpu),
	TP_ARGS(task, pid, cpu)
);

TRACE_EVENT(sched_process_fork,
	TP_PROTO(const char *parent, int parent_pid, const char *child, int child_pid),
	TP_ARGS(parent, parent_pid, child, child_pid),
	TP_STRUCT__entry(
		__array(char, parent_comm, 16)
		__field(int, parent_pid)
		__array(char, child_comm, 16)
		__field(int, child_pid)
	),
	TP_fast_assign(
		strncpy(__entry->parent_comm, parent, 15);
		__entry->parent_pid = parent_pid;
		strncpy(__entry->child_comm, child, 15);
		__entry->child_pid = child_pid;
	),
	TP_printk("comm=%s pid=%d child_comm=%s child_pid=%d", __entry->parent_comm,
		  __entry->parent_pid, __entry->child_comm, __entry->child_pid)
);

DECLARE_EVENT_CLASS(sched_process_template,
	TP_PROTO(const char *task, int pid),
	TP_ARGS(task, pid),
	TP_STRUCT__entry(
		__array(char, comm, 16)
		__field(int, pid)
		__field(int, prio)
	),
	TP_fast_assign(
		strncpy(__entry->comm, task, 15);
		__entry->pid = pid;
		__entry->prio = 120;
	),
	TP_printk("comm=%s pid=%d prio=%d", __entry->comm, __entry->pid, __entry->prio)
);

DEFINE_EVENT(sched_process_template, sched_process_exit,
	TP_PROTO(const char *task, int pid),
	TP_ARGS(task, pid)
);

TRACE_EVENT(sched_process_exec,
	TP_PROTO(const char *filename, int pid, int old_pid),
	TP_ARGS(filename, pid, old_pid),
	TP_STRUCT__entry(
		__string(filename, filename)
		__field(int, pid)
		__field(int, old_pid)
	),
	TP_fast_assign(
		__assign_str(filename);
		__entry->pid = pid;
		__entry->old_pid = old_pid;
	),
	TP_printk("filename=%s pid=%d old_pid=%d", __get_str(filename), __entry->pid,
		  __entry->old_pid)
);
/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ksched
#include <vestige/define_trace.h>
