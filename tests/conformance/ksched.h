/* SPDX-License-Identifier: MIT */
/* Events of the names and fields that the kernel's test cases look for. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sched

#if !defined(CONFORMANCE_SCHED_H) || defined(TRACE_HEADER_MULTI_READ)
#define CONFORMANCE_SCHED_H

#include <string.h>
#include <vestige/tracepoint.h>

/* clang-format off */
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
