/* SPDX-License-Identifier: MIT */
/*
 * The actions of triggers. A count goes down only when a trigger changed something: traceoff while
 * tracing was on, enable_event while the event was off. Any context, between ring_enter() and
 * ring_leave(). Tests: tests/engine/events/trigger.
 */
#include "arch_barrier.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/events/trigger/hist.h"
#include "engine/events/trigger/trigger.h"

/*
 * Use up one of the trigger's count. Return: whether there was any left. A command calls it when it
 * changes something.
 */
static int take_count(struct event_trigger *t)
{
	int64_t n = load_relaxed(&t->count);

	while (n > 0 && n != TRIGGER_UNLIMITED)
		if (__atomic_compare_exchange_n(&t->count, &n, n - 1, 1, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
	return n == TRIGGER_UNLIMITED;
}

static void fire_tracing(struct event_trigger *t, int on)
{
	struct trace_array *tr = t->file->tr;

	if (ring_is_on(tr->ring) != on && take_count(t))
		tracing_set(tr, on);
}

static void fire_traceon(struct event_trigger *t, const void *record)
{
	(void)record;
	fire_tracing(t, 1);
}

static void fire_traceoff(struct event_trigger *t, const void *record)
{
	(void)record;
	fire_tracing(t, 0);
}

static void fire_switch(struct event_trigger *t, int on)
{
	if (event_file_may_switch(t->target, on) && take_count(t))
		event_file_switch(t->target, on);
}

static void fire_enable(struct event_trigger *t, const void *record)
{
	(void)record;
	fire_switch(t, 1);
}

static void fire_disable(struct event_trigger *t, const void *record)
{
	(void)record;
	fire_switch(t, 0);
}

/*
 * Pause all histograms of another event. As in the kernel, each firing counts, also one that
 * changes nothing. Their list does not change between ring_enter() and ring_leave().
 */
static void pause_hists(struct event_trigger *t, int paused)
{
	struct event_trigger *other;

	if (!take_count(t))
		return;
	for (other = load_acquire(&t->target->triggers); other;
	     other = load_acquire(&other->next)) {
		if (other->hist)
			hist_pause(other->hist, paused);
	}
}

static void fire_enable_hist(struct event_trigger *t, const void *record)
{
	(void)record;
	pause_hists(t, 0);
}

static void fire_disable_hist(struct event_trigger *t, const void *record)
{
	(void)record;
	pause_hists(t, 1);
}

/* As in the kernel, the event that fires it is in the snapshot, too. */
static void fire_snapshot(struct event_trigger *t, const void *record)
{
	(void)record;
	if (take_count(t))
		tracer_snapshot(t->file->tr, UINT32_MAX);
}

static void fire_stack(struct event_trigger *t, const void *record)
{
	(void)record;
	if (take_count(t))
		stack_record(t->file->tr->ring);
}

static int prepare_stack(struct trace_array *tr)
{
	(void)tr;
	return stack_start();
}

static const struct trigger_ops traceon = {
	.name = "traceon", .order = 1, .group = GROUP_TRACING, .fire = fire_traceon};
static const struct trigger_ops traceoff = {
	.name = "traceoff", .order = 2, .group = GROUP_TRACING, .fire = fire_traceoff};
static const struct trigger_ops snapshot = {.name = "snapshot",
					    .order = 3,
					    .group = GROUP_SNAPSHOT,
					    .post = 1,
					    .prepare = trace_array_alloc_snapshot,
					    .fire = fire_snapshot};
static const struct trigger_ops stacktrace = {.name = "stacktrace",
					      .order = 4,
					      .group = GROUP_STACK,
					      .post = 1,
					      .prepare = prepare_stack,
					      .fire = fire_stack};
static const struct trigger_ops enable_event = {.name = "enable_event",
						.order = 5,
						.group = GROUP_SWITCH,
						.targeted = 1,
						.fire = fire_enable};
static const struct trigger_ops disable_event = {.name = "disable_event",
						 .order = 6,
						 .group = GROUP_SWITCH,
						 .targeted = 1,
						 .fire = fire_disable};
static const struct trigger_ops enable_hist = {.name = "enable_hist",
					       .order = 7,
					       .group = GROUP_SWITCH_HIST,
					       .targeted = 1,
					       .fire = fire_enable_hist};
static const struct trigger_ops disable_hist = {.name = "disable_hist",
						.order = 8,
						.group = GROUP_SWITCH_HIST,
						.targeted = 1,
						.fire = fire_disable_hist};

TRIGGER_REGISTER(traceon);
TRIGGER_REGISTER(traceoff);
TRIGGER_REGISTER(snapshot);
TRIGGER_REGISTER(stacktrace);
TRIGGER_REGISTER(enable_event);
TRIGGER_REGISTER(disable_event);
TRIGGER_REGISTER(enable_hist);
TRIGGER_REGISTER(disable_hist);
