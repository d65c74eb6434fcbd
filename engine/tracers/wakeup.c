/* SPDX-License-Identifier: MIT */
/*
 * wakeup, wakeup_rt and wakeup_dl: the longest time from the moment at which a thread was woken to
 * that at which it ran: of any thread, of one with a real-time priority, of a deadline's. From the
 * kernel's tracepoints; only these tell a wakeup.
 *
 * The agent finds a maximum some milliseconds after it happened, writes its two records (`+` and
 * `==>`) and keeps what was recorded between them: with function-trace the functions of all threads.
 * One of the three at a time, in one instance. fork: the child goes on with its own maximum. Costs:
 * perf's at each wakeup and switch; with function-trace those of the function tracer. Tests:
 * tests/engine/tracers/wakeup.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/core/latency.h"
#include "engine/core/tracer.h"
#include "engine/process/heap.h"
#include "engine/ring/proxy.h"
#include "engine/sources/ctx_record.h"
#include "engine/sources/threads.h"

/* A thread that was woken and has not run yet. */
struct woken {
	int tid; /* 0: a free slot */
	struct ring_as by;
	struct sched_wakeup_record record;
};

/* Open addressing by tid; one that has run leaves its slot, which its next wakeup takes. */
static struct woken *table;
static uint32_t slots, used;

static struct trace_array *traced; /* NULL: none of them is current */
static int32_t below;		   /* only priorities below */

static struct woken *slot_of(struct woken *at, uint32_t nr, int tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u & (nr - 1);

	while (at[i].tid && at[i].tid != tid)
		i = (i + 1) & (nr - 1);
	return &at[i];
}

static int make_room(void)
{
	uint32_t nr = slots ? slots * 2 : 256, i;
	struct woken *more, *to;

	if (used * 2 < slots)
		return 1;
	more = heap_alloc(nr * sizeof(*more));
	if (!more)
		return 0;
	used = 0;
	for (i = 0; i < slots; i++) {
		/* those that wait: others of a process with many short-lived threads are gone */
		if (!table[i].tid || !table[i].by.stamp)
			continue;
		to = slot_of(more, nr, table[i].tid);
		*to = table[i];
		used++;
	}
	heap_free(table);
	table = more;
	slots = nr;
	return 1;
}

static void note_waking(const struct sched_call *c)
{
	const struct sched_wakeup_record *rec = c->record;
	struct woken *w;

	if (rec->prio >= below || sched_threads_find(rec->pid) != SCHED_THREAD || !make_room())
		return;
	w = slot_of(table, slots, rec->pid);
	if (!w->tid)
		used++;
	else if (w->by.stamp)
		return; /* it was woken before, and waits */
	w->tid = rec->pid;
	w->by = *c->as;
	w->record = *rec;
}

/* Both records, in pages of their own: others of these threads may be younger. */
static void write_both(struct trace_array *tr, struct woken *w, const struct sched_call *c)
{
	const struct ring_as *as = ring_as;
	struct sched_call woken = {.kind = SCHED_WAKING,
				   .as = &w->by,
				   .record = &w->record,
				   .bytes = sizeof(w->record)};

	ring_proxy_flush();
	ring_as = &w->by;
	ctx_record_write(tr, &woken);
	ring_as = as;
	ctx_record_write(tr, c);
	ring_proxy_flush();
}

static void note_switch(const struct sched_call *c)
{
	const struct sched_switch_record *rec = c->record;
	struct trace_array *tr = traced;
	struct latency_stretch s = {0};
	struct woken *w;

	if (!slots)
		return;
	/* it was woken before it slept */
	w = slot_of(table, slots, rec->prev_pid);
	if (w->tid)
		w->by.stamp = 0;
	w = slot_of(table, slots, rec->next_pid);
	if (!w->tid || !w->by.stamp)
		return;
	s.from = w->by.stamp;
	s.to = c->as->stamp;
	if (tr && s.to > s.from && tr->ring->stamps != RING_STAMPS_COUNTER &&
	    latency_is_news(tr, s.to - s.from) && ring_is_on(tr->ring)) {
		write_both(tr, w, c);
		s.from_cpu = w->by.cpu;
		s.tid = rec->next_pid;
		s.all = s.is_over = 1;
		s.prio = rec->next_prio;
		memcpy(s.comm, rec->next_comm, sizeof(s.comm));
		latency_report(tr, &s);
	}
	w->by.stamp = 0;
}

static void note_lost(struct sched_loss *loss)
{
	uint32_t i;

	/* a waiting thread may have run meanwhile */
	for (i = 0; i < slots; i++)
		table[i].by.stamp = 0;
	if (traced)
		sched_count_loss(loss, traced->ring);
}

static struct sched_listener on_waking = {.call = note_waking}, on_new = {.call = note_waking},
			     on_switch = {.call = note_switch};
static struct sched_lost_listener on_lost = {.call = note_lost};

static void ignore(void)
{
	source_ignore(&sched_sources[SCHED_SWITCH], &on_switch.link);
	source_ignore(&sched_sources[SCHED_WAKEUP_NEW], &on_new.link);
	source_ignore(&sched_sources[SCHED_WAKING], &on_waking.link);
	source_ignore(&sched_lost, &on_lost.link);
}

static int listen_to(void)
{
	int err = source_listen(&sched_sources[SCHED_WAKING], &on_waking.link);

	if (!err)
		err = source_listen(&sched_sources[SCHED_WAKEUP_NEW], &on_new.link);
	if (!err)
		err = source_listen(&sched_sources[SCHED_SWITCH], &on_switch.link);
	if (!err)
		err = source_listen(&sched_lost, &on_lost.link);
	if (err)
		ignore();
	return err;
}

static int init(struct trace_array *tr, int32_t prio)
{
	int err;

	if (traced)
		return -EBUSY;
	err = ctx_record_start();
	if (!err)
		err = latency_init(tr);
	if (err)
		return err;
	/* which calls will have been within the maximum is not known when they are made */
	ring_set_gate(tr->ring, 0);
	below = prio;
	traced = tr;
	err = listen_to();
	if (!err)
		return 0;
	traced = NULL;
	latency_reset(tr);
	return err;
}

static void reset(struct trace_array *tr)
{
	ignore();
	traced = NULL;
	heap_free(table);
	table = NULL;
	slots = used = 0;
	latency_reset(tr);
}

static int wakeup_init(struct trace_array *tr)
{
	return init(tr, INT32_MAX);
}

static int wakeup_rt_init(struct trace_array *tr)
{
	return init(tr, 100);
}

static int wakeup_dl_init(struct trace_array *tr)
{
	return init(tr, 0);
}

LATENCY_TRACER(wakeup, sched_perf_refused);
LATENCY_TRACER(wakeup_rt, sched_perf_refused);
LATENCY_TRACER(wakeup_dl, sched_perf_refused);

static void fork_wakeup(const struct lifecycle_fork *f)
{
	uint32_t i;

	for (i = 0; f->when == LIFECYCLE_FORK_LEAVE && i < slots; i++)
		table[i].by.stamp = 0;
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_wakeup, NULL);
