/* SPDX-License-Identifier: MIT */
/* See ctx_record.h. fork: nothing. Tests: tests/engine/tracers/sched_switch. */
#include "engine/sources/ctx_record.h"

#include "engine/base/mem.h"
#include "engine/core/ftrace_formats.h"
#include "engine/ring/proxy.h"
#include "engine/ring/task.h"
#include "engine/sources/perf_clock.h"
#include "engine/sources/task.h"
#include "engine/sources/threads.h"

struct ctx_record {
	uint64_t head;
	uint32_t prev_pid, next_pid, next_cpu;
	uint8_t prev_prio, prev_state, next_prio, next_state;
};
_Static_assert(sizeof(struct ctx_record) == 24, "the kernel's");

int ctx_record_start(void)
{
	int err = ftrace_format_text(FTRACE_CONTEXT_SWITCH);

	return err ? err : ftrace_format_text(FTRACE_WAKEUP);
}

/* The kernel's index of a state's letter: of its lowest bit; a runnable thread has none. */
static uint8_t state_index(int64_t state)
{
	uint8_t i;

	for (i = 0; i < 8; i++)
		if (state >> i & 1)
			return i + 1;
	return 0;
}

static int32_t prio_of(int tid)
{
	return tid > 0 ? sched_task_find(tid, perf_clock_now())->prio : 120;
}

/* Make the name of a thread of another process known to readers. */
static void name_stranger(struct trace_array *tr, int pid, const char *comm)
{
	if (pid > 0 && sched_threads_find(pid) != SCHED_THREAD)
		ring_task_elsewhere(tr->ring, pid, 0, comm);
}

void ctx_record_write(struct trace_array *tr, const struct sched_call *c)
{
	const struct sched_switch_record *sw = c->record;
	const struct sched_wakeup_record *wake = c->record;
	int is_switch = c->kind == SCHED_SWITCH;
	struct ctx_record *r;
	struct ring_slot slot;

	if (!tr->ring || !ring_reserve_as_other(tr->ring, &slot, sizeof(*r)))
		return;
	r = (struct ctx_record *)slot.words;
	if (is_switch) {
		*r = (struct ctx_record){.head = r->head,
					 .prev_pid = (uint32_t)sw->prev_pid,
					 .prev_prio = (uint8_t)sw->prev_prio,
					 .prev_state = state_index(sw->prev_state),
					 .next_pid = (uint32_t)sw->next_pid,
					 .next_prio = (uint8_t)sw->next_prio,
					 .next_cpu = c->as->cpu};
		name_stranger(tr, sw->next_pid, sw->next_comm);
	} else {
		/* the kernel's record has no more of the waker than its id */
		*r = (struct ctx_record){.head = r->head,
					 .prev_pid = (uint32_t)c->as->tid,
					 .prev_prio = (uint8_t)prio_of(c->as->tid),
					 .next_pid = (uint32_t)wake->pid,
					 .next_prio = (uint8_t)wake->prio,
					 .next_cpu = (uint32_t)wake->target_cpu};
		name_stranger(tr, wake->pid, wake->comm);
	}
	ring_commit(&slot, RECORD_EVENT,
		    RECORD_EVENT_ID(is_switch ? FTRACE_CONTEXT_SWITCH : FTRACE_WAKEUP, sizeof(*r)));
}
