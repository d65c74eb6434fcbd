/* SPDX-License-Identifier: MIT */
/*
 * The sched_switch tracer of the first ftrace: each context switch of the process's threads as
 * `PID:PRIO:STATE ==> [CPU] PID:PRIO:STATE COMM`, each wakeup with `+`. The data is from the
 * kernel's tracepoints. Without privilege it is from perf's context switches alone; then the other
 * thread of a switch is known only if it is one of this process, and else shown as -1. Where perf
 * gives neither, the tracer is refused.
 *
 * The agent writes the records, some milliseconds late. fork: the child goes on with its own.
 * Tests: tests/engine/tracers/sched_switch.
 */
#include "engine/base/compiler.h"
#include "engine/core/tracer.h"
#include "engine/sources/ctx_record.h"

static const struct tracer sched_switch_tracer;
static uint32_t users;

static void note(const struct sched_call *c)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (tr && tr->current == &sched_switch_tracer)
			ctx_record_write(tr, c);
	}
}

static void note_lost(struct sched_loss *loss)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (tr && tr->current == &sched_switch_tracer && tr->ring)
			sched_count_loss(loss, tr->ring);
	}
}

static struct sched_listener on_switch = {.call = note}, on_wakeup = {.call = note},
			     on_new = {.call = note};
static struct sched_lost_listener on_lost = {.call = note_lost};

static int sched_switch_init(struct trace_array *tr)
{
	int err;

	(void)tr;
	if (users++)
		return 0;
	err = ctx_record_start();
	if (!err)
		err = source_listen(&sched_sources[SCHED_SWITCH], &on_switch.link);
	if (err) {
		users--;
		return err;
	}
	source_listen(&sched_lost, &on_lost.link);
	/* further events of the kernel; vestige_status names those that it refuses */
	source_listen(&sched_sources[SCHED_WAKEUP], &on_wakeup.link);
	source_listen(&sched_sources[SCHED_WAKEUP_NEW], &on_new.link);
	return 0;
}

static void sched_switch_reset(struct trace_array *tr)
{
	(void)tr;
	if (--users)
		return;
	source_ignore(&sched_sources[SCHED_WAKEUP_NEW], &on_new.link);
	source_ignore(&sched_sources[SCHED_WAKEUP], &on_wakeup.link);
	source_ignore(&sched_sources[SCHED_SWITCH], &on_switch.link);
	source_ignore(&sched_lost, &on_lost.link);
}

static const struct tracer sched_switch_tracer = {
	.name = "sched_switch",
	.init = sched_switch_init,
	.reset = sched_switch_reset,
	.allow_instances = 1,
};
TRACER_REGISTER(sched_switch_tracer);
