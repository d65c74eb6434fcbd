/* SPDX-License-Identifier: MIT */
/*
 * See sched_records.h. The agent calls all of this, under the tree lock. There is a state for each
 * CPU: the thread that left it last, and the last sample, to recognise a second record of the same
 * event. Tests: tests/engine/events/sched, switches, wakings.
 */
#include "engine/sources/sched_records.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/unwind.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/libc.h"
#include "engine/process/perf.h"
#include "engine/ring/proxy.h"
#include "engine/sources/perf_clock.h"
#include "engine/sources/sched_perf.h"
#include "engine/sources/task.h"
#include "engine/sources/threads.h"

#define LATE_NS		2000000u /* a later thread on the same CPU is not ours */
#define PAIR_NS		10000u	 /* longest time between a thread's leave and its successor */
#define PAIR_TIMES	2	 /* the same, as a multiple of the usual time */
#define FIRST_PAIR_NS	2500u	 /* the usual time of a switch, while none was seen */
#define LEAST_PAIR_NS	500u	 /* a shorter time is no switch, but an error of the stamps */
#define DOUBLE_NS	1000u	 /* longest time between two records of one event */
#define REFILTERED_NS	20000u	 /* as DOUBLE_NS, for the old and the new filters */
#define TASK_REPORT_MAX 0x100	 /* prev_state of a thread that is still runnable */
#define TASK_SLEEPS	1	 /* S: a context switch does not say which kind of sleep it is */

/* The state of a CPU. */
struct cpu_state {
	struct perf_record out; /* thread that left it last; ns 0: none, or it has been reported */
	uint32_t pair_ns;	/* usual time of a switch between two of our threads; 0: none yet */
	uint32_t last_tid, last_out;
	int32_t expected;	   /* next_pid of the kernel's last record */
	uint64_t last_ns, last_id; /* of the last sample */
	uint8_t last[SCHED_RECORD_BYTES];
};
static struct cpu_state *cpus;

static uint32_t strangers; /* see sched_records_strangers() */

/* The stack of a thread that was entering the kernel, or was interrupted. */
static uint32_t walk_stack(const struct perf_record *rec, uint64_t *to)
{
	const uint64_t sp = rec->regs[ARCH_PERF_SP];
	const struct unwind_memory memory = {.of = {{sp, sp + rec->stack_bytes, rec->stack}}};
	struct unwind u = {rec->regs[ARCH_PERF_IP], sp, rec->regs[ARCH_PERF_FP], 1};
	enum unwind_step how;
	uint64_t lo, hi; /* the engine's text */
	uint32_t n = 0, steps = 2 * SCHED_FRAMES;

	libc_own_text(&lo, &hi);
	do {
		if (u.ip - lo >= hi - lo)
			to[n++] = u.ip;
		how = unwind_step(&u, &memory);
		if (how == UNWIND_NO_TABLE)
			how = unwind_by_frame_pointer(&u, &memory);
	} while (how == UNWIND_CALLER && n < SCHED_FRAMES && --steps);
	return n;
}

/* @tid: the acting thread, @tgid: its process; @other: a second thread that the record is about. */
static void notify(uint32_t kind, int tid, int tgid, int other, const char *comm,
		   const struct perf_record *rec, const void *record, uint32_t bytes)
{
	struct ring_as as = {.tid = tid,
			     .tgid = tgid,
			     .other = other,
			     .cpu = rec->cpu,
			     .stamp = perf_clock_stamp(rec->ns)};
	struct sched_call call = {
		.kind = kind, .as = &as, .ns = rec->ns, .record = record, .bytes = bytes};
	uint64_t frames[SCHED_FRAMES];

	if (rec->regs && tgid == (int)area->pid) {
		call.frames = frames;
		call.nr_frames = walk_stack(rec, frames);
	}
	memcpy(as.comm, comm, sizeof(as.comm));
	ring_as = &as;
	SOURCE_NOTIFY(struct sched_listener, load_acquire(&sched_sources[kind].first), &call);
	ring_as = NULL;
}

static void fill_task(int tid, char *comm, int32_t *prio)
{
	const struct sched_task *t = sched_task_find(tid, perf_clock_now());

	memcpy(comm, t->comm, TASK_COMM_BYTES);
	*prio = t->prio;
}

static void unknown_task(char *comm, int32_t *pid, int32_t *prio)
{
	memcpy(comm, "<...>", 6);
	*pid = -1;
	*prio = 0;
}

/*
 * A thread leaves a CPU, gets one, or does so as another one leaves. @out, @in: NULL: not a thread
 * of this process.
 */
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
		unknown_task(rec.prev_comm, &rec.prev_pid, &rec.prev_prio);
	}
	if (in) {
		rec.next_pid = in->tid;
		fill_task(in->tid, rec.next_comm, &rec.next_prio);
	} else {
		unknown_task(rec.next_comm, &rec.next_pid, &rec.next_prio);
	}
	notify(SCHED_SWITCH, at->tid, area->pid, rec.next_pid, out ? rec.prev_comm : rec.next_comm,
	       at, &rec, sizeof(rec));
}

/*
 * Whether a thread that came @ns after the last one left is its successor. Another program's thread
 * that ran between them is not seen: it needs two switches. So the limit follows the fastest of the
 * latest switches. They are slower where perf has more to do.
 */
static int is_pair(struct cpu_state *c, uint64_t ns)
{
	if (ns > PAIR_NS)
		return 0;
	if (!c->pair_ns)
		c->pair_ns = FIRST_PAIR_NS;
	if (ns < c->pair_ns)
		c->pair_ns = ns > LEAST_PAIR_NS ? (uint32_t)ns : LEAST_PAIR_NS;
	else
		c->pair_ns += c->pair_ns / 64 + 1;
	return ns <= PAIR_TIMES * c->pair_ns;
}

static void notify_out(struct cpu_state *c)
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
	/* no thread leaves or comes twice: this record is from the second family of events */
	if (same)
		return;
	if (sched_open[SCHED_SWITCH].how == SCHED_BY_THREADS) {
		/*
		 * the kernel's record always has the thread that left; it has the thread that came
		 * only if the one that left is ours
		 */
		if (!out && c->expected != rec->tid)
			write_switch(NULL, rec);
		if (!out)
			c->expected = -1;
		return;
	}
	if (out) {
		notify_out(c);
		c->out = *rec;
	} else if (c->out.ns && c->out.tid != rec->tid && is_pair(c, rec->ns - c->out.ns)) {
		write_switch(&c->out, rec);
		c->out.ns = 0;
	} else {
		notify_out(c);
		write_switch(NULL, rec);
	}
}

/*
 * Whether a sample may report the last event again: by another family of events, by an old filter
 * that is about to be closed, or as a wakeup in the woken thread's context.
 */
static int is_double(const struct cpu_state *c, const struct perf_record *rec)
{
	uint64_t ago = rec->ns - c->last_ns;

	if (sched_open[rec->kind].how == SCHED_BY_CPUS)
		return ago < REFILTERED_NS && rec->id != c->last_id;
	return ago < DOUBLE_NS && (rec->id != c->last_id ||
				   (rec->kind >= SCHED_WAKING && rec->kind <= SCHED_WAKEUP_NEW));
}

/*
 * The thread that made the record, from the kernel's record: a thread that is about to end has no
 * id elsewhere any more.
 */
static int maker_of(const struct perf_record *rec)
{
	int32_t tid = 0;

	if (rec->raw_bytes >= sizeof(struct builtin_record))
		memcpy(&tid, rec->raw + 4, sizeof(tid));
	return tid;
}

void sched_records_comm(int tid, uint32_t cpu, char *comm)
{
	struct seq_buf s;
	int32_t prio;

	if (tid) {
		fill_task(tid, comm, &prio);
		return;
	}
	seq_init(&s, comm, TASK_COMM_BYTES - 1);
	seq_puts(&s, "swapper/");
	seq_putu(&s, cpu);
	comm[s.len] = 0;
}

static void maker_comm(const struct perf_record *rec, int tid, const void *record, char *comm)
{
	const struct sched_switch_record *sw = record;

	if (rec->kind == SCHED_SWITCH)
		memcpy(comm, sw->prev_comm, TASK_COMM_BYTES);
	else
		sched_records_comm(tid, rec->cpu, comm);
}

static int is_ours(uint32_t kind, int tid, int other)
{
	if (kind == SCHED_FREE)
		return sched_threads_find(other) != 0;
	return sched_threads_find(tid) == SCHED_THREAD || sched_threads_find(other) == SCHED_THREAD;
}

/* Report a record of the kernel, in our format. */
static void sample(struct cpu_state *c, const struct perf_record *rec)
{
	int everywhere = sched_open[rec->kind].how == SCHED_BY_CPUS;
	int tid = everywhere ? maker_of(rec) : rec->tid, tgid, other;
	uint64_t words[SCHED_RECORD_BYTES / 8] = {0};
	const struct kernel_tracepoint *e = &sched_tracepoints[rec->kind];
	uint8_t *to = (uint8_t *)words;
	uint32_t bytes;
	char comm[TASK_COMM_BYTES];

	bytes = kernel_event_convert(e, &sched_open[rec->kind].places, rec->raw, rec->raw_bytes,
				     to);
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
	notify(rec->kind, tid, tgid, other, comm, rec, words, bytes);
}

_Static_assert(RING_MAX <= 64, "a bit each in sched_loss.counted");

void sched_count_loss(struct sched_loss *loss, struct ring *r)
{
	uint64_t bit = UINT64_C(1) << r->index;

	if (!(loss->counted & bit))
		ring_count_proxy_lost(r, loss->cpu, loss->nr);
	loss->counted |= bit;
}

static void notify_loss(const struct perf_record *rec)
{
	struct sched_loss loss = {.cpu = rec->cpu, .nr = rec->lost};

	SOURCE_NOTIFY(struct sched_lost_listener, load_acquire(&sched_lost.first), &loss);
}

int sched_records_start(void)
{
	if (!cpus)
		cpus = heap_alloc(area->nr_cpus * sizeof(*cpus));
	return cpus ? 0 : -ENOMEM;
}

void sched_records_one(const struct perf_record *rec)
{
	enum sched_how how;

	if (rec->type == PERF_RECORD_LOST) {
		notify_loss(rec);
		return;
	}
	if (rec->kind == SCHED_TASKS)
		sched_threads_see(rec);
	if (rec->kind >= NR_SCHED_KINDS)
		return;
	how = sched_open[rec->kind].how;
	if (rec->type == PERF_RECORD_SWITCH)
		context_switch(&cpus[rec->cpu], rec);
	else if (rec->type == PERF_RECORD_SAMPLE &&
		 (how == SCHED_BY_CPUS || how == SCHED_BY_THREADS))
		sample(&cpus[rec->cpu], rec);
}

void sched_records_end(int all)
{
	uint32_t i;

	for (i = 0; cpus && i < area->nr_cpus; i++)
		if (all || perf_clock_now() - cpus[i].out.ns > LATE_NS)
			notify_out(&cpus[i]);
}

void sched_records_fork(void)
{
	if (cpus)
		memset(cpus, 0, area->nr_cpus * sizeof(*cpus));
}

uint32_t sched_records_strangers(void)
{
	return strangers;
}

void sched_records_refiltered(void)
{
	strangers = 0;
}
