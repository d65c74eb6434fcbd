/* SPDX-License-Identifier: MIT */
/*
 * wakeup, wakeup_rt and wakeup_dl: the longest time between a thread's wakeup and its next run: of
 * any thread, of real-time threads, of deadline threads. The data is from the kernel's tracepoints,
 * the only source of wakeups. Where these are refused, it is from context switches and the time
 * that each thread has waited in all (run_delay.h). Then the waker is not known, and of some waits
 * only an upper limit is known, which is written to the buffer and is never the maximum.
 *
 * The agent finds a maximum some milliseconds after it happened. It writes two records (`+` with
 * the waker's stack if the waker is a thread of this process, and `==>`) and keeps the records
 * between them: with function-trace the functions of all threads. One of the three tracers can be
 * current, in one instance. fork: the child goes on with its own maximum. Costs: perf's at each
 * wakeup and switch; with function-trace the function tracer's as well. Tests:
 * tests/engine/tracers/wakeup.
 */
#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/latency.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/thread_list.h"
#include "engine/ring/proxy.h"
#include "engine/sources/ctx_record.h"
#include "engine/sources/perf_clock.h"
#include "engine/sources/run_delay.h"
#include "engine/sources/task.h"
#include "engine/sources/threads.h"

/* A thread that was woken and has not run yet; without tracepoints, any thread. */
struct woken {
	int tid; /* 0: a free slot */
	struct run_delay delay;
	struct ring_as by;
	struct sched_wakeup_record record;
	uint32_t nr_frames;
	uint64_t frames[SCHED_FRAMES]; /* of the waker */
};

/* Open addressing by tid. A thread that has run leaves its slot for its next wakeup. */
static struct woken *table;
static uint32_t slots, used;

static struct trace_array *traced; /* NULL: none of them is current */
static int32_t below;		   /* only threads of lower priority numbers count */
static int by_delay;		   /* there are no tracepoints */

static struct woken *slot_of(struct woken *at, uint32_t nr, int tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u & (nr - 1);

	while (at[i].tid && at[i].tid != tid)
		i = (i + 1) & (nr - 1);
	return &at[i];
}

static int is_needed(const struct woken *w)
{
	/* keep only waiting threads: of many short-lived threads the others have ended */
	if (!by_delay)
		return w->by.stamp != 0;
	return w->tid && !arch_syscall(SYS_tgkill, area->pid, w->tid, 0, 0, 0, 0);
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
		if (!is_needed(&table[i]))
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
		return; /* an earlier wakeup is still waiting to run */
	w->tid = rec->pid;
	w->by = *c->as;
	w->record = *rec;
	w->nr_frames = c->nr_frames;
	if (c->nr_frames)
		memcpy(w->frames, c->frames, c->nr_frames * sizeof(*w->frames));
}

/*
 * Write both records, in pages of their own: there may be younger records of these threads already.
 */
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
	stack_put_as_other(tr->ring, w->frames, w->nr_frames);
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
	/* the wakeup was before the sleep */
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

/* Write `wakeup: at most 812 us`: a thread waited, and the exact time is not known. */
static void write_limit(struct trace_array *tr, uint64_t ns)
{
	struct seq_buf s;
	struct ring_slot slot;
	char text[48] = {0};

	seq_init(&s, text, sizeof(text) - 1);
	seq_puts(&s, tr->current ? tr->current->name : "wakeup");
	seq_puts(&s, ": at most ");
	seq_putu(&s, ns / 1000);
	seq_puts(&s, " us");
	if (!ring_reserve_as_other(tr->ring, &slot, 16 + sizeof(text)))
		return;
	slot.words[1] = (uint64_t)(uintptr_t)write_limit;
	memcpy(slot.words + 2, text, sizeof(text));
	ring_commit(&slot, RECORD_PRINT, 16 + sizeof(text));
}

/* A thread of this process got a CPU after it had waited for @ns. */
static void note_wait(const struct sched_call *c, uint64_t ns, int is_exact)
{
	const struct sched_switch_record *rec = c->record;
	struct trace_array *tr = traced;
	struct latency_stretch s = {
		.from = perf_clock_stamp(c->ns - ns), .to = c->as->stamp, .tid = rec->next_pid};
	const struct ring_as *as = ring_as;
	struct ring_as own = *c->as;

	if (!tr || s.to <= s.from || tr->ring->stamps == RING_STAMPS_COUNTER ||
	    !latency_is_news(tr, s.to - s.from) || !ring_is_on(tr->ring))
		return;
	ring_proxy_flush();
	if (is_exact) {
		ctx_record_write(tr, c);
	} else {
		own.tid = own.other = rec->next_pid;
		own.tgid = area->pid;
		memcpy(own.comm, rec->next_comm, sizeof(own.comm));
		ring_as = &own;
		write_limit(tr, ns);
		ring_as = as;
	}
	ring_proxy_flush();
	if (!is_exact)
		return;
	s.from_cpu = c->as->cpu;
	s.all = s.is_over = 1;
	s.prio = rec->next_prio;
	memcpy(s.comm, rec->next_comm, sizeof(s.comm));
	latency_report(tr, &s);
}

/* The row of thread @tid, new if there is none; NULL: no memory. */
static struct woken *row_of(int tid)
{
	struct woken *w;

	if (!make_room())
		return NULL;
	w = slot_of(table, slots, tid);
	if (!w->tid) {
		*w = (struct woken){.tid = tid};
		used++;
	}
	return w;
}

/* As note_wait(), without tracepoints. A thread of another process has no run_delay here. */
static void note_run(const struct sched_call *c)
{
	const struct sched_switch_record *rec = c->record;
	enum run_delay_sort sort;
	struct woken *w = slots ? slot_of(table, slots, rec->prev_pid) : NULL;
	uint64_t ns = 0;

	if (w && w->tid && rec->prev_pid > 0)
		run_delay_left(&w->delay, rec->prev_state);
	w = rec->next_pid > 0 ? row_of(rec->next_pid) : NULL;
	if (!w)
		return;
	sort = run_delay_came(&w->delay, w->tid, c->ns, &ns);
	if (sort != RUN_DELAY_UNKNOWN && rec->next_prio < below)
		note_wait(c, ns, sort == RUN_DELAY_EXACT);
}

static int begin_thread(int tid, void *data)
{
	struct woken *w = row_of(tid);

	(void)data;
	if (w)
		run_delay_begin(&w->delay, tid);
	return 0;
}

static void note_lost(struct sched_loss *loss)
{
	uint32_t i;

	/* a waiting thread may have run meanwhile; why a thread left its CPU is lost */
	for (i = 0; i < slots; i++) {
		table[i].by.stamp = 0;
		table[i].delay.slept = 0;
	}
	if (traced)
		sched_count_loss(loss, traced->ring);
}

static struct sched_listener on_waking = {.call = note_waking}, on_new = {.call = note_waking},
			     on_switch = {.call = note_switch}, on_run = {.call = note_run};
static struct sched_lost_listener on_lost = {.call = note_lost};

static void ignore(void)
{
	source_ignore(&sched_sources[SCHED_SWITCH], &on_run.link);
	source_ignore(&sched_sources[SCHED_SWITCH], &on_switch.link);
	source_ignore(&sched_sources[SCHED_WAKEUP_NEW], &on_new.link);
	source_ignore(&sched_sources[SCHED_WAKING], &on_waking.link);
	source_ignore(&sched_lost, &on_lost.link);
}

static int listen_to(void)
{
	int err;

	if (by_delay) {
		err = source_listen(&sched_sources[SCHED_SWITCH], &on_run.link);
		if (!err)
			thread_list_each(begin_thread, NULL);
		return err ? err : source_listen(&sched_lost, &on_lost.link);
	}
	err = source_listen(&sched_sources[SCHED_WAKING], &on_waking.link);
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
	const char *refused = sched_perf_refused();
	int err;

	if (traced)
		return -EBUSY;
	err = ctx_record_start();
	if (!err)
		err = latency_init(tr);
	if (err)
		return err;
	/* when a call is made it is not known whether it will be within the maximum */
	ring_set_gate(tr->ring, 0);
	below = prio;
	by_delay = refused != NULL;
	traced = tr;
	stack_start(); /* a program without an unwinder has no stacks */
	sched_perf_want_stacks(1);
	err = listen_to();
	if (!err) {
		if (by_delay)
			area_status("wakeup, wakeup_rt and wakeup_dl have no wakers, and only a "
				    "limit of some waits",
				    refused, 0);
		return 0;
	}
	traced = NULL;
	sched_perf_want_stacks(0);
	latency_reset(tr);
	return err;
}

static void reset(struct trace_array *tr)
{
	ignore();
	sched_perf_want_stacks(0);
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

static const char *absent(void)
{
	return sched_perf_refused() ? run_delay_refused() : NULL;
}

LATENCY_TRACER(wakeup, absent);
LATENCY_TRACER(wakeup_rt, absent);
LATENCY_TRACER(wakeup_dl, absent);

static void fork_wakeup(const struct lifecycle_fork *f)
{
	uint32_t i;

	/* the child's threads are other ones */
	for (i = 0; f->when == LIFECYCLE_FORK_LEAVE && i < slots; i++) {
		table[i].by.stamp = 0;
		table[i].delay = (struct run_delay){0};
	}
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_wakeup, NULL);
