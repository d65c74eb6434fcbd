/* SPDX-License-Identifier: MIT */
/*
 * What triggers do when they fire. Counts go down when a trigger did something: traceoff where tracing was
 * on, enable_event where the event was off. Any context, between ring_enter() and ring_leave().
 * Tests: tests/engine/events/trigger.
 */
#include "engine/events/trigger_ops.h"

#include "arch_barrier.h"
#include "engine/core/stack.h"
#include "engine/events/hist.h"

/* One of its count, if there is any left. */
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
	struct ring *r = t->file->tr->ring;

	if (ring_is_on(r) != on && take_count(t))
		ring_set_on(r, on);
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

static void fire_enable(struct event_trigger *t, const void *record)
{
	(void)record;
	if (load_relaxed(&t->target->flags) & EVENT_FILE_SOFT_DISABLED && take_count(t))
		__atomic_and_fetch(&t->target->flags, ~(uint32_t)EVENT_FILE_SOFT_DISABLED,
				   __ATOMIC_RELAXED);
}

static void fire_disable(struct event_trigger *t, const void *record)
{
	(void)record;
	if (!(load_relaxed(&t->target->flags) & EVENT_FILE_SOFT_DISABLED) && take_count(t))
		__atomic_or_fetch(&t->target->flags, EVENT_FILE_SOFT_DISABLED, __ATOMIC_RELAXED);
}

static void fire_hist(struct event_trigger *t, const void *record)
{
	hist_fire(t->hist, record);
}

/* All histograms of another event. Their list does not change between ring_enter() and ring_leave(). */
static void pause_hists(struct event_trigger *t, int paused)
{
	struct event_trigger *other;
	int taken = 0;

	for (other = load_acquire(&t->target->triggers); other;
	     other = load_acquire(&other->next)) {
		if (!other->hist || hist_paused(other->hist) == paused)
			continue;
		if (!taken && !take_count(t))
			return;
		taken = 1;
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

/* In the kernel the event that fires it is in the snapshot too. */
static void fire_snapshot(struct event_trigger *t, const void *record)
{
	(void)record;
	if (take_count(t))
		ring_snapshot(t->file->tr->ring, UINT32_MAX);
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

const struct trigger_ops trigger_hist_ops = {"hist", GROUP_HIST, 0, 1, NULL, fire_hist};

const struct trigger_ops trigger_simple_ops[TRIGGER_NR_SIMPLE] = {
	{"traceon", GROUP_TRACING, 0, 0, NULL, fire_traceon},
	{"traceoff", GROUP_TRACING, 0, 0, NULL, fire_traceoff},
	{"snapshot", GROUP_SNAPSHOT, 0, 1, trace_array_alloc_snapshot, fire_snapshot},
	{"stacktrace", GROUP_STACK, 0, 1, prepare_stack, fire_stack},
	{"enable_event", GROUP_SWITCH, 1, 0, NULL, fire_enable},
	{"disable_event", GROUP_SWITCH, 1, 0, NULL, fire_disable},
	{"enable_hist", GROUP_SWITCH_HIST, 1, 0, NULL, fire_enable_hist},
	{"disable_hist", GROUP_SWITCH_HIST, 1, 0, NULL, fire_disable_hist},
};
