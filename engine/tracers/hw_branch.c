/* SPDX-License-Identifier: MIT */
/*
 * The hw-branch tracer: the branches that the processor took (sources/branch_stack.h), as `CPU FROM
 * -> TO`. The tracer is absent where perf cannot record branches. In the top instance alone. fork:
 * the child goes on. Tests: tests/engine/tracers/hw-branch.
 */
#include "engine/core/ftrace_formats.h"
#include "engine/core/tracer.h"
#include "engine/ring/proxy.h"
#include "engine/sources/branch_stack.h"
#include "engine/sources/sched_perf.h"

struct hw_branch_record {
	uint64_t head, from, to;
	uint32_t cpu_id, padding;
};

static void note(uint64_t from, uint64_t to)
{
	struct hw_branch_record *r;
	struct ring_slot slot;

	if (!ring_reserve_as_other(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct hw_branch_record *)slot.words;
	r->from = from;
	r->to = to;
	r->cpu_id = ring_as->cpu;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_HW_BRANCH, sizeof(*r)));
}

static void note_lost(struct sched_loss *loss)
{
	sched_count_loss(loss, global_trace.ring);
}

static struct branch_stack_listener listener = {.call = note};
static struct sched_lost_listener on_lost = {.call = note_lost};

static int hw_branch_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_HW_BRANCH);

	(void)tr;
	if (!err)
		err = source_listen(&branch_stacks, &listener.link);
	if (!err)
		source_listen(&sched_lost, &on_lost.link);
	return err;
}

static void hw_branch_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&branch_stacks, &listener.link);
	source_ignore(&sched_lost, &on_lost.link);
}

static const struct tracer hw_branch = {
	.name = "hw-branch",
	.init = hw_branch_init,
	.reset = hw_branch_reset,
	.absent = branch_stack_refused,
	.absent_by_machine = 1,
};
TRACER_REGISTER(hw_branch);
