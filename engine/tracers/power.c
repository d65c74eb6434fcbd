/* SPDX-License-Identifier: MIT */
/*
 * The power tracer: when the CPUs on which the program ran were idle, in which idle state, and
 * their frequency (sources/power.h). The words are from the kernel's first power tracer
 * (2.6.33): power_start, power_end, power_frequency. In the top instance alone. fork: the child
 * goes on, with the CPUs on which it runs. Costs: nothing in the program's threads. Tests:
 * tests/engine/tracers/power.
 */
#include "engine/core/ftrace_formats.h"
#include "engine/core/tracer.h"
#include "engine/ring/proxy.h"
#include "engine/sources/power.h"
#include "engine/sources/sched_perf.h"

struct power_record {
	uint64_t head;
	uint32_t kind, state, cpu_id, below;
};

static void note(const struct power *p)
{
	struct power_record *r;
	struct ring_slot slot;

	if (!ring_reserve_as_other(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct power_record *)slot.words;
	r->kind = p->kind;
	r->state = p->state;
	r->cpu_id = p->cpu;
	r->below = p->below;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_POWER, sizeof(*r)));
}

static void note_lost(struct sched_loss *loss)
{
	sched_count_loss(loss, global_trace.ring);
}

static struct power_listener listener = {.call = note};
static struct sched_lost_listener on_lost = {.call = note_lost};

static int power_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_POWER);

	(void)tr;
	if (!err)
		err = source_listen(&powers, &listener.link);
	if (!err)
		source_listen(&sched_lost, &on_lost.link);
	return err;
}

static void power_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&powers, &listener.link);
	source_ignore(&sched_lost, &on_lost.link);
}

static const struct tracer power = {
	.name = "power",
	.init = power_init,
	.reset = power_reset,
	.absent = sched_perf_no_cpus,
};
TRACER_REGISTER(power);
