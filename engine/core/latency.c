/* SPDX-License-Identifier: MIT */
/*
 * See latency.h. The limit is one word in units of the clock, so a stretch below it costs only a
 * comparison. fork: a child begins with its parent's limits, no maximum, and a snapshot of its own
 * (trace_array.c). Costs: latency_report() some 50 us. Tests: tests/engine/events/preemptoff.
 */
#include "engine/core/latency.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/core/context.h"
#include "engine/core/options.h"
#include "engine/core/tracer.h"
#include "engine/process/area.h"
#include "engine/process/area_dead.h"
#include "engine/process/clock.h"
#include "engine/ring/proxy.h"
#include "engine/ring/ring_write.h"
#include "engine/ring/stretch.h"

static uint64_t ns_per_unit; /* << 32 */

static uint64_t to_ns(const struct trace_array *tr, uint64_t units)
{
	if (tr->ring->stamps == RING_STAMPS_COUNTER)
		/* trace_clock counter: as in the kernel, a record counts as a microsecond */
		return units * 1000;
	return (uint64_t)((unsigned __int128)units * ns_per_unit >> 32);
}

/* The greatest number of units that is not more than @ns. */
static uint64_t to_units(const struct trace_array *tr, uint64_t ns)
{
	unsigned __int128 units;

	if (tr->ring->stamps == RING_STAMPS_COUNTER)
		return ns / 1000;
	if (!ns_per_unit)
		return 0;
	units = ((unsigned __int128)ns << 32) / ns_per_unit;
	return units < UINT64_MAX ? (uint64_t)units : UINT64_MAX;
}

static void set_limit(struct trace_array *tr)
{
	uint64_t over = to_units(tr, tracing_thresh_ns ? tracing_thresh_ns : tr->max_latency_ns);

	if (tracing_thresh_ns && over && over < UINT64_MAX)
		over--; /* a stretch of exactly that length is kept, too */
	store_relaxed(&tr->latency_over, over);
}

void latency_set_max(struct trace_array *tr, uint64_t ns)
{
	tr->max_latency_ns = ns;
	set_limit(tr);
}

void latency_thresh_changed(void)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		if (trace_array_at(i))
			set_limit(trace_array_at(i));
}

static void set_flag(struct trace_array *tr, int bit, int on)
{
	if (option_is_on(tr, bit) != on)
		option_set(tr, bit, on);
}

/* @functions, @graph: values of the options function-trace and display-graph. */
static int start_functions(struct trace_array *tr, int functions, int graph)
{
	return functions ? ftrace_start(tr, graph ? RECORD_ENTRY : RECORD_FUNCTION) : 0;
}

int latency_init(struct trace_array *tr)
{
	int err;

	ns_per_unit = clock_unit_ns();
	err = context_want(tr, 1);
	if (err)
		return err;
	ring_set_gate(tr->ring, 1);
	err = start_functions(tr, option_is_on(tr, AREA_OPTION_FUNCTION_TRACE),
			      option_is_on(tr, AREA_OPTION_DISPLAY_GRAPH));
	if (err) {
		context_want(tr, 0);
		ring_set_gate(tr->ring, 0);
		return err;
	}
	stretch_drop(tr->ring);
	*(struct area_latency *)area_entry_in(trace_array_area(tr), AREA_LATENCIES, 0) =
		(struct area_latency){0};
	tr->had_overwrite = (uint8_t)option_is_on(tr, AREA_OPTION_OVERWRITE);
	tr->had_latency_format = (uint8_t)option_is_on(tr, AREA_OPTION_LATENCY_FORMAT);
	/* a recorder fetches all records in time, so they need not be overwritten */
	tr->keeps_overwrite = !area_has_recorder(trace_array_area(tr));
	if (tr->keeps_overwrite)
		set_flag(tr, AREA_OPTION_OVERWRITE, 1);
	set_flag(tr, AREA_OPTION_LATENCY_FORMAT, 1);
	latency_set_max(tr, 0);
	return 0;
}

void latency_reset(struct trace_array *tr)
{
	ftrace_stop(tr);
	ring_set_gate(tr->ring, 0);
	context_want(tr, 0);
	tr->keeps_overwrite = 0;
	set_flag(tr, AREA_OPTION_OVERWRITE, tr->had_overwrite);
	set_flag(tr, AREA_OPTION_LATENCY_FORMAT, tr->had_latency_format);
}

/* The option's bit changes after this call, so use @value. */
int latency_set_option(struct trace_array *tr, enum area_option option, int value)
{
	int graph = option_is_on(tr, AREA_OPTION_DISPLAY_GRAPH);
	int functions = option_is_on(tr, AREA_OPTION_FUNCTION_TRACE);

	/* the begin of a stretch may be lost, but not its end */
	if (option == AREA_OPTION_OVERWRITE && !value && tr->keeps_overwrite)
		return -EINVAL;
	if (option == AREA_OPTION_FUNCTION_TRACE)
		functions = value;
	else if (option == AREA_OPTION_DISPLAY_GRAPH)
		graph = value;
	else
		return 0;
	ftrace_stop(tr);
	/* a buffer with records of both kinds could not be shown */
	if (option == AREA_OPTION_DISPLAY_GRAPH) {
		ring_clear(tr->ring, UINT32_MAX);
		stretch_drop(tr->ring);
		latency_set_max(tr, 0);
	}
	return start_functions(tr, functions, graph);
}

/* A thread other than the caller may have ended: then only its priority is known. */
static void describe_other(struct area_latency *l, const struct latency_stretch *s)
{
	memcpy(l->comm, s->comm, sizeof(l->comm));
	l->uid = (uint32_t)arch_syscall(SYS_getuid, 0, 0, 0, 0, 0, 0);
	if (s->prio < 0) {
		l->policy = 6; /* 6: SCHED_DEADLINE */
	} else if (s->prio < 100) {
		l->policy = 1; /* 1: SCHED_FIFO, or round robin */
		l->rt_prio = 99 - (uint32_t)s->prio;
	} else {
		l->nice = s->prio - 120;
	}
}

/* Fill in the thread's data, as far as system calls are allowed. */
static void describe_task(struct area_latency *l, int tid)
{
	uint32_t prio = 0;
	long ret;

	str_copy(l->comm, sizeof(l->comm), ring_thread_comm());
	if (tid != ring_thread_id() || sys_is_forbidden())
		return;
	if (!l->comm[0])
		sys_get_comm(l->comm);
	l->uid = (uint32_t)arch_syscall(SYS_getuid, 0, 0, 0, 0, 0, 0);
	/* the result is 20 - nice */
	ret = arch_syscall(SYS_getpriority, 0, tid, 0, 0, 0, 0);
	l->nice = ret > 0 ? 20 - (int32_t)ret : 0;
	ret = arch_syscall(SYS_sched_getscheduler, tid, 0, 0, 0, 0, 0);
	l->policy = ret > 0 ? (uint32_t)ret & 0xff : 0;
	if (!arch_syscall(SYS_sched_getparam, tid, (long)&prio, 0, 0, 0, 0))
		l->rt_prio = prio;
}

static void describe(struct trace_array *tr, const struct latency_stretch *s)
{
	struct area_latency *to = area_entry_in(trace_array_area(tr), AREA_LATENCIES, 0);
	struct area_latency l = {
		.from_stamp = s->from,
		.to_stamp = s->to,
		.latency_ns = to_ns(tr, s->to - s->from),
		.started_at = s->started_at,
		.ended_at = s->ended_at,
		.tid = s->tid,
		.cpu = ring_as ? ring_as->cpu : ring_cpu(),
		.lock = s->lock,
		.lock_site = s->lock_site,
		.lock_sort = s->lock_sort,
		.nr_waiters = s->nr_waiters,
	};

	memcpy(l.waiters, s->waiters, sizeof(l.waiters));
	if (s->comm[0])
		describe_other(&l, s);
	else
		describe_task(&l, s->tid);
	*to = l;
}

int latency_report(struct trace_array *tr, const struct latency_stretch *s)
{
	uint64_t units = s->to - s->from;
	int news;

	if (!ring_is_on(tr->ring) || stretch_begin(tr->ring))
		return 0;
	news = latency_is_news(tr, units);
	if (news) {
		stretch_empty(tr->ring);
		if (s->begin.ip)
			stretch_call(tr->ring, s->from, s->from_cpu, s->context, s->begin.ip,
				     s->begin.parent_ip);
		/* include the records that were made at its end */
		stretch_copy(tr->ring, s->all ? 0 : s->tid, s->from,
			     s->is_over ? s->to : ring_now(tr->ring));
		describe(tr, s);
		tr->max_latency_ns = to_ns(tr, units);
		set_limit(tr);
	}
	stretch_end(tr->ring);
	return news;
}
