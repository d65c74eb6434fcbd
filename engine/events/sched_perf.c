/* SPDX-License-Identifier: MIT */
/*
 * sched_switch and its like. The kernel tells of our own threads through perf rings (core/perf.h),
 * and the agent writes the records for the threads, in order of time over all CPUs, so that filters and
 * triggers see them as they happened; a record is late by DRAIN_MS and LATE_NS at most.
 *
 * Where the kernel's tracepoints may be opened, a record is the kernel's own, field by field. They are opened
 * for whole CPUs, with filters that let pass what is about our threads (sched_threads.h), whoever made it:
 * interrupts and other processes wake them too. In a PID namespace of its own a process does not know
 * its threads' ids in the kernel's records: then they are opened for each thread, and a wakeup is told by the
 * waker and by the woken thread's context. Elsewhere sched_switch is made of context-switch records, which
 * say that a thread left or came and no more: both are one record when one came as the other left;
 * else the other side is pid -1.
 *
 * fork: the child's agent opens its own. Tests: tests/engine/events/sched, switches, wakings.
 */
#include "engine/events/sched_perf.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "arch_barrier.h"
#include "arch_clock.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/area.h"
#include "engine/core/heap.h"
#include "engine/core/perf.h"
#include "engine/events/kernel_event.h"
#include "engine/events/own_event.h"
#include "engine/events/sched_kinds.h"
#include "engine/events/sched_leave.h"
#include "engine/events/sched_task.h"
#include "engine/events/sched_threads.h"
#include "engine/events/signal_event.h"
#include "engine/ring/foreign.h"

#define DRAIN_MS      5
#define LATE_NS	      1000000u /* a CPU may be amid a record for so long, and stand out of order */
#define MAX_WAIT_NS   200000000u /* a start for the agent */
#define YIELD_NS      50000000u
#define PAIR_NS	      10000u /* between one that leaves and the one that comes in its place */
#define DOUBLE_NS     1000u  /* between two tellings of one event */
#define REFILTERED_NS 20000u /* the same, by the filters of before and of now */
#define MAX_STRANGERS 20000u /* samples of newer threads than the filters know that are not ours */
#define REFILTER_NS                                                                                \
	1000000000u /* not oftener: events are opened anew, which takes ms on a busy machine */
#define TASK_REPORT_MAX 0x100 /* prev_state of one that could go on */
#define TASK_SLEEPS	1     /* S: which sleep it is, a context switch does not say */

_Static_assert(SCHED_TASKS < PERF_MAX_KINDS, "perf.h tells kinds apart by these numbers");

static int open_switches(int on);

/* How a kind comes: by a tracepoint of all CPUs or of our threads, or otherwise. */
enum { CLOSED, CPUS, THREADS, INSTEAD };
static struct {
	struct own_event *row;
	int (*instead)(int on); /* where there are no tracepoints; NULL: it is refused there */
	uint8_t anywhere;	/* ... by any thread, as it is not perf's */
	uint8_t wanted;
	uint8_t how;
	struct perf_event_attr attr; /* of its tracepoint */
	struct kernel_event_places places;
} kinds[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = {.row = &sched_rows[SCHED_SWITCH], .instead = open_switches},
	[SCHED_WAKING] = {.row = &sched_rows[SCHED_WAKING]},
	[SCHED_WAKEUP] = {.row = &sched_rows[SCHED_WAKEUP]},
	[SCHED_WAKEUP_NEW] = {.row = &sched_rows[SCHED_WAKEUP_NEW]},
	[SCHED_RUNTIME] = {.row = &sched_rows[SCHED_RUNTIME]},
	[SCHED_FREE] = {.row = &sched_rows[SCHED_FREE]},
	[SCHED_GENERATE] = {.row = &signal_generate_event,
			    .instead = signal_calls_see,
			    .anywhere = 1},
	[SCHED_DELIVER] = {.row = &signal_deliver_event,
			   .instead = signal_handlers_see,
			   .anywhere = 1},
};

static uint32_t strangers;   /* since the filters were made */
static uint64_t filtered_ns; /* when that was */

static void (*wake_agent)(void);
static int agent_tid; /* 0: it has not come yet; -1: there is none */
static int changed;   /* a kind is wanted or not, and the agent has not seen it yet */
static int settled;   /* the agent has seen what was wanted when it came */

/* Which thread left a CPU last. */
struct cpu_state {
	struct perf_record out; /* ns 0: nobody, or it is told */
	uint32_t last_tid, last_out;
	int32_t expected;	   /* next_pid of the last record of the kernel's */
	uint64_t last_ns, last_id; /* of the last sample */
	uint8_t last[SCHED_RECORD_BYTES];
};
static struct cpu_state *cpus;

/* Moments on both clocks: the last, and one of a second or two before. */
struct moment {
	uint64_t stamp, mono;
};
static struct moment now, base, older;

static struct moment read_moment(void)
{
	struct moment best = {0};
	uint64_t bracket = UINT64_MAX;
	int i;

	for (i = 0; i < 8; i++) {
		uint64_t before = arch_clock_read_ordered(), mono = ring_clock_mono();
		uint64_t after = arch_clock_read_ordered();

		if (after - before < bracket) {
			bracket = after - before;
			best = (struct moment){before + bracket / 2, mono};
		}
	}
	return best;
}

static void look_at_clock(void)
{
	const struct area_clock *first = area_entry(AREA_CLOCKS, 0);

	now = read_moment();
	if (!older.mono)
		older = base = (struct moment){first->stamp, first->mono_ns};
	if (now.mono - base.mono > 1000000000) {
		older = base;
		base = now;
	}
}

/* A time of CLOCK_MONOTONIC as a stamp of the area. */
static uint64_t stamp_of(uint64_t ns)
{
	uint64_t units = now.stamp - older.stamp, time = now.mono - older.mono, rate, away;

	if (area->clock == AREA_CLOCK_MONO)
		return ns;
	for (; units >> 40; time >>= 1)
		units >>= 1;
	if (!time)
		return now.stamp;
	rate = (units << 22) / time;
	away = now.mono > ns ? now.mono - ns : 0;
	return now.stamp - (uint64_t)((unsigned __int128)away * rate >> 22);
}

/* @tid: of the thread that did it, @tgid: of its process; @other: whom it is about as well. */
static void write_as(const struct own_event *e, int tid, int tgid, int other, const char *comm,
		     const struct perf_record *rec, const void *record, uint32_t bytes)
{
	struct ring_as as = {.tid = tid,
			     .tgid = tgid,
			     .other = other,
			     .cpu = rec->cpu,
			     .stamp = stamp_of(rec->ns)};

	memcpy(as.comm, comm, sizeof(as.comm));
	ring_as = &as;
	own_event_write(e, record, bytes);
	ring_as = NULL;
}

static void fill_task(int tid, char *comm, int32_t *prio)
{
	const struct sched_task *t = sched_task_find(tid, now.mono);

	memcpy(comm, t->comm, TASK_COMM_BYTES);
	*prio = t->prio;
}

static void nobody(char *comm, int32_t *pid, int32_t *prio)
{
	memcpy(comm, "<...>", 6);
	*pid = -1;
	*prio = 0;
}

/* A thread leaves or comes, or one for the other. @out, @in: NULL: it is not ours. */
static void write_switch(const struct perf_record *out, const struct perf_record *in)
{
	const struct perf_record *at = out ? out : in;
	struct sched_switch_record rec = {.prev_state = 0};

	if (out) {
		rec.prev_pid = out->tid;
		fill_task(out->tid, rec.prev_comm, &rec.prev_prio);
		rec.prev_state = out->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? TASK_REPORT_MAX
										 : TASK_SLEEPS;
	} else {
		nobody(rec.prev_comm, &rec.prev_pid, &rec.prev_prio);
	}
	if (in) {
		rec.next_pid = in->tid;
		fill_task(in->tid, rec.next_comm, &rec.next_prio);
	} else {
		nobody(rec.next_comm, &rec.next_pid, &rec.next_prio);
	}
	write_as(kinds[SCHED_SWITCH].row, at->tid, area->pid, rec.next_pid,
		 out ? rec.prev_comm : rec.next_comm, at, &rec, sizeof(rec));
}

static void tell_out(struct cpu_state *c)
{
	if (c->out.ns)
		write_switch(&c->out, NULL);
	c->out.ns = 0;
}

static void context_switch(struct cpu_state *c, const struct perf_record *rec)
{
	uint32_t out = !!(rec->misc & PERF_RECORD_MISC_SWITCH_OUT);
	int same = c->last_tid == (uint32_t)rec->tid && c->last_out == out;

	c->last_tid = (uint32_t)rec->tid;
	c->last_out = out;
	/* nobody leaves or comes twice: the second family of events */
	if (same)
		return;
	if (kinds[SCHED_SWITCH].how == THREADS) {
		/* who left is in the kernel's record; who came, only when one of us left */
		if (!out && c->expected != rec->tid)
			write_switch(NULL, rec);
		if (!out)
			c->expected = -1;
		return;
	}
	if (out) {
		tell_out(c);
		c->out = *rec;
	} else if (c->out.ns && rec->ns - c->out.ns <= PAIR_NS && c->out.tid != rec->tid) {
		write_switch(&c->out, rec);
		c->out.ns = 0;
	} else {
		tell_out(c);
		write_switch(NULL, rec);
	}
}

/*
 * Whether a sample may be the last one again: told by another family of events, by two filters of which
 * one is about to go, or a wakeup by the other thread's context.
 */
static int is_double(const struct cpu_state *c, const struct perf_record *rec)
{
	uint64_t ago = rec->ns - c->last_ns;

	if (kinds[rec->kind].how == CPUS)
		return ago < REFILTERED_NS && rec->id != c->last_id;
	return ago < DOUBLE_NS && (rec->id != c->last_id ||
				   (rec->kind >= SCHED_WAKING && rec->kind <= SCHED_WAKEUP_NEW));
}

/* Who made it, as the kernel's record has it: one that is about to end has no other id any more. */
static int maker_of(const struct perf_record *rec)
{
	int32_t tid = 0;

	if (rec->raw_bytes >= sizeof(struct own_record))
		memcpy(&tid, rec->raw + 4, sizeof(tid));
	return tid;
}

static void maker_comm(const struct perf_record *rec, int tid, const void *record, char *comm)
{
	const struct sched_switch_record *sw = record;
	struct seq_buf s;
	int32_t prio;

	if (rec->kind == SCHED_SWITCH) {
		memcpy(comm, sw->prev_comm, TASK_COMM_BYTES);
	} else if (tid) {
		fill_task(tid, comm, &prio);
	} else {
		seq_init(&s, comm, TASK_COMM_BYTES - 1);
		seq_puts(&s, "swapper/");
		seq_putu(&s, rec->cpu);
		comm[s.len] = 0;
	}
}

static int is_ours(uint32_t kind, int tid, int other)
{
	if (kind == SCHED_FREE)
		return sched_threads_find(other) != 0;
	return sched_threads_find(tid) == SCHED_THREAD || sched_threads_find(other) == SCHED_THREAD;
}

/* A record of the kernel's, in our format. */
static void sample(struct cpu_state *c, const struct perf_record *rec)
{
	int everywhere = kinds[rec->kind].how == CPUS;
	int tid = everywhere ? maker_of(rec) : rec->tid, tgid, other;
	uint64_t words[SCHED_RECORD_BYTES / 8] = {0};
	const struct own_event *e = kinds[rec->kind].row;
	uint8_t *to = (uint8_t *)words;
	uint32_t bytes;
	char comm[TASK_COMM_BYTES];

	bytes = kernel_event_convert(e, &kinds[rec->kind].places, rec->raw, rec->raw_bytes, to);
	if (!bytes)
		return;
	other = sched_other_of(rec->kind, words, tid);
	if (everywhere && !is_ours(rec->kind, tid, other)) {
		strangers++;
		return;
	}
	*(uint32_t *)to = rec->kind;
	*(int32_t *)(to + 4) = tid;
	if (is_double(c, rec) && !memcmp(c->last, to, bytes))
		return;
	c->last_ns = rec->ns;
	c->last_id = rec->id;
	memcpy(c->last, to, bytes);
	if (rec->kind == SCHED_SWITCH)
		c->expected = other;
	if (rec->kind == SCHED_FREE)
		sched_threads_freed(other);
	tgid = everywhere && sched_threads_find(tid) == SCHED_THREAD ? (int)area->pid : rec->pid;
	maker_comm(rec, tid, words, comm);
	write_as(e, tid, tgid, other, comm, rec, words, bytes);
}

/* Whether one of the first @nr_kinds is on for @tr. */
static int wants_kind(const struct trace_array *tr, uint32_t nr_kinds)
{
	const struct event_file *f;
	uint32_t i;

	for (i = 0; i < nr_kinds; i++)
		for (f = kinds[i].row->event ? kinds[i].row->event->files : NULL; f; f = f->next)
			if (f->tr == tr && event_file_is_on(f))
				return 1;
	return 0;
}

/* perf does not say of which kind they were: a ring counts them once. */
static void lost(const struct perf_record *rec)
{
	const struct event_file *f;
	uint32_t i;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		for (f = kinds[i].row->event ? kinds[i].row->event->files : NULL; f; f = f->next)
			if (event_file_is_on(f) && f->tr->ring && !wants_kind(f->tr, i))
				ring_count_foreign_lost(f->tr->ring, rec->cpu, rec->lost);
}

static void one_record(const struct perf_record *rec)
{
	if (rec->type == PERF_RECORD_LOST)
		lost(rec);
	else if (rec->kind == SCHED_TASKS)
		sched_threads_see(rec);
	else if (rec->kind >= NR_SCHED_KINDS)
		return;
	else if (rec->type == PERF_RECORD_SWITCH)
		context_switch(&cpus[rec->cpu], rec);
	else if (rec->type == PERF_RECORD_SAMPLE &&
		 (kinds[rec->kind].how == CPUS || kinds[rec->kind].how == THREADS))
		sample(&cpus[rec->cpu], rec);
}

/* @how: CLOSED: in any way. */
static int any_open(uint32_t how)
{
	uint32_t i;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (how ? kinds[i].how == how : kinds[i].how != CLOSED)
			return 1;
	return 0;
}

/* @late_ns: what is younger waits for the next time. @last: nobody's place will be taken any more. */
static void drain(uint32_t late_ns, int last)
{
	uint64_t all = ~UINT64_C(0), old;
	uint32_t i;

	if (!cpus || !any_open(CLOSED))
		return;
	/* what a handler records is its own thread's */
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
	look_at_clock();
	perf_read(now.mono - late_ns, one_record);
	/* whoever came in the place of one that left so long ago is not ours */
	for (i = 0; i < area->nr_cpus; i++)
		if (last || now.mono - cpus[i].out.ns > LATE_NS + 1000000)
			tell_out(&cpus[i]);
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0, 0);
}

void sched_perf_drain(void)
{
	drain(0, 1);
}

/* Which thread comes or goes, and no more. */
static int open_switches(int on)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_DUMMY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1,
				       .context_switch = 1};

	if (on)
		return perf_open(SCHED_SWITCH, &attr);
	perf_close(SCHED_SWITCH);
	return 0;
}

/* Of those that are known by now, and all that come later. */
static int open_filtered(uint32_t kind, uint32_t newest)
{
	char *filter = heap_alloc(SCHED_FILTER_BYTES);
	int err;

	if (!filter)
		return -ENOMEM;
	sched_threads_filter(filter, sched_whom[kind], newest);
	err = perf_open_cpus(kind, &kinds[kind].attr, filter);
	heap_free(filter);
	return err;
}

/* The threads change, or the filters let too many strangers pass. */
static void refilter(void)
{
	uint32_t i, newest = sched_threads_newest();

	drain(0, 0);
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (kinds[i].how == CPUS)
			open_filtered(i, newest);
	strangers = 0;
	filtered_ns = now.mono;
}

/* All that comes to one kind comes to all: filters of before let pass who came since. */
static int open_on_cpus(uint32_t kind)
{
	struct perf_event_attr tasks = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.task = 1};
	int err = 0, first = !any_open(CPUS);
	uint32_t newest;

	if (!kernel_event_ids_are_ours())
		return -EACCES;
	if (first)
		err = perf_open_cpus(SCHED_TASKS, &tasks, NULL);
	newest = sched_threads_newest();
	if (!first)
		drain(0, 0);
	else if (!err)
		err = sched_threads_start(agent_tid);
	if (!err)
		err = open_filtered(kind, newest);
	if (!err) {
		kinds[kind].how = CPUS;
	} else if (first) {
		perf_close(SCHED_TASKS);
		sched_threads_stop();
	}
	return err;
}

static int open_kind(uint32_t kind)
{
	struct perf_event_attr *attr = &kinds[kind].attr;
	uint64_t config;
	int err = -EACCES;

	config = attr->config; /* of before: a fork's child, say */
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT, .sample_type = PERF_SAMPLE_RAW, .sample_period = 1};
	if (!cpus)
		cpus = heap_alloc(area->nr_cpus * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	attr->config = config ? config : kernel_event_find(kinds[kind].row, &kinds[kind].places);
	if (attr->config) {
		err = open_on_cpus(kind);
		/* what is freed is nobody's own doing */
		if (!err || kind == SCHED_FREE)
			return err;
		attr->context_switch = kind == SCHED_SWITCH;
		err = perf_open(kind, attr);
	}
	if (!err)
		kinds[kind].how = THREADS;
	if (!err || !kinds[kind].instead)
		return err;
	err = kinds[kind].instead(1);
	if (!err)
		kinds[kind].how = INSTEAD;
	return err;
}

static void close_kind(uint32_t kind)
{
	uint32_t how = kinds[kind].how;

	sched_perf_drain();
	if (how == INSTEAD)
		kinds[kind].instead(0);
	else
		perf_close(kind);
	kinds[kind].how = CLOSED;
	if (how == CPUS && !any_open(CPUS)) {
		perf_close(SCHED_TASKS);
		sched_threads_stop();
	}
	if (!any_open(CLOSED))
		ring_foreign_flush();
}

/* As @kind is wanted now. */
static int apply(uint32_t kind)
{
	int err = 0;

	sched_threads_children(kinds[SCHED_FREE].wanted);
	if (kinds[kind].wanted && kinds[kind].how == CLOSED)
		err = open_kind(kind);
	else if (!kinds[kind].wanted && kinds[kind].how != CLOSED)
		close_kind(kind);
	if (err)
		area_status("the kernel does not tell this process (see perf_event_paranoid):",
			    kinds[kind].row->name, err);
	return err;
}

int sched_perf_enable(struct own_event *e, int on)
{
	uint32_t kind = 0;
	int err;

	while (kinds[kind].row != e)
		kind++;

	if (agent_tid < 0 && kinds[kind].anywhere)
		return kinds[kind].instead(on);
	if (on && agent_tid < 0) {
		area_status("no agent (VESTIGE_AGENT=0), or none with descriptors of its own, for",
			    e->name, -ENODEV);
		return -ENODEV;
	}
	kinds[kind].wanted = (uint8_t)on;
	if (agent_tid != sys_gettid()) {
		/* the descriptors must be the agent's: it says in vestige_status what is refused */
		changed = 1;
		if (agent_tid)
			wake_agent();
		return 0;
	}
	err = apply(kind);
	if (err)
		kinds[kind].wanted = 0;
	sched_leave_see(any_open(CLOSED));
	return err;
}

int sched_perf_work(void)
{
	uint32_t i;

	if (changed) {
		changed = 0;
		for (i = 0; i < NR_SCHED_KINDS; i++)
			apply(i);
		sched_leave_see(any_open(CLOSED));
	}
	store_release(&settled, 1);
	drain(LATE_NS, 0);
	if (any_open(CPUS) && (sched_threads_missed() ||
			       (strangers > MAX_STRANGERS && now.mono - filtered_ns > REFILTER_NS)))
		refilter();
	return any_open(CLOSED) ? DRAIN_MS : -1;
}

uint32_t sched_perf_descriptors(int *fds, uint32_t max)
{
	return any_open(CLOSED) ? perf_descriptors(fds, max) : 0;
}

void sched_perf_agent(void)
{
	agent_tid = sys_gettid();
}

void sched_perf_no_agent(void)
{
	agent_tid = -1;
}

void sched_perf_settle(void)
{
	struct timespec nap = {.tv_nsec = 100000};
	uint64_t begin = ring_clock_mono(), ns = 0;
	uint32_t i, wanted = 0;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		wanted |= kinds[i].wanted;
	/* who sleeps is woken, and that would be the first record; a thread of higher priority has to, in the end */
	for (; wanted && ns < MAX_WAIT_NS; ns = ring_clock_mono() - begin) {
		if (load_acquire(&settled) || load_relaxed(&agent_tid) < 0)
			return;
		if (ns < YIELD_NS)
			arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			arch_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
}

void sched_perf_fork(void)
{
	uint32_t i;

	perf_fork();
	sched_threads_fork();
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (kinds[i].how == THREADS || !kinds[i].anywhere)
			kinds[i].how = CLOSED;
	if (cpus)
		memset(cpus, 0, area->nr_cpus * sizeof(*cpus));
	changed = 1;
	settled = 0;
	if (agent_tid > 0)
		agent_tid = 0;
}

int sched_perf_start(void (*wake)(void))
{
	wake_agent = wake;
	return own_events_add(sched_rows, NR_SCHED_ROWS) ||
			       own_events_add(&signal_generate_event, 1) ||
			       own_events_add(&signal_deliver_event, 1)
		       ? -ENOMEM
		       : 0;
}
