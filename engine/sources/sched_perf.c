/* SPDX-License-Identifier: MIT */
/*
 * See sched_perf.h. Samples about our threads come from the kernel through perf rings
 * (process/perf.h), and the agent tells them, in order of time over all CPUs, so that filters and
 * triggers see them in the order in which they happened. A record is late by DRAIN_MS and LATE_NS
 * at most.
 *
 * Where the kernel's tracepoints may be opened, a record is the kernel's own, field by field. They
 * are opened for whole CPUs, with filters that pass records about our threads (threads.h),
 * also those made by interrupts and other processes. In a PID namespace a process does not know its
 * threads' ids in the kernel's records: then they are opened for each thread, and a wakeup is seen
 * by the waker and in the woken thread's context. Elsewhere sched_switch is made of context-switch
 * records, which say that a thread left or came and no more: both are one record when one came as
 * the other left; else the other side is pid -1.
 *
 * The file is long because what is open and what is made of its records are one state: a kind that
 * opens or closes changes how the next record of each CPU is read.
 *
 * fork: the child's agent opens its own. Tests: tests/engine/events/sched, switches, wakings.
 */
#include "engine/sources/sched_perf.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/tree_lock.h"
#include "engine/core/unwind.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/libc.h"
#include "engine/process/perf.h"
#include "engine/sources/perf_clock.h"
#include "engine/sources/kernel_event.h"
#include "engine/sources/sched_flush.h"
#include "engine/sources/task.h"
#include "engine/sources/threads.h"
#include "engine/ring/proxy.h"

#define DRAIN_MS      5
#define LATE_NS	      1000000u	 /* a record may be that long in the making, and out of order */
#define MAX_WAIT_NS   200000000u /* a start for the agent */
#define YIELD_NS      50000000u
#define PAIR_NS	      10000u /* between one that leaves and the one that comes in its place */
#define DOUBLE_NS     1000u  /* between two tellings of one event */
#define REFILTERED_NS 20000u /* the same, by the filters of before and of now */
#define MAX_STRANGERS 20000u /* samples of newer threads than the filters know that are not ours */
#define REFILTER_NS                                                                                \
	1000000000u /* not oftener: events are opened anew, which takes ms on a busy machine */
#define TASK_REPORT_MAX 0x100 /* prev_state of one that could go on */
#define STACK_BYTES	1024u /* of a waker's */
#define TASK_SLEEPS	1     /* S: which sleep it is, a context switch does not say */

_Static_assert(SCHED_TASKS < PERF_MAX_KINDS, "perf.h tells kinds apart by these numbers");

static int open_switches(int on);
static int want(struct source *s, int on);

struct source sched_sources[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = {.want = want},   [SCHED_WAKING] = {.want = want},
	[SCHED_WAKEUP] = {.want = want},   [SCHED_WAKEUP_NEW] = {.want = want},
	[SCHED_RUNTIME] = {.want = want},  [SCHED_FREE] = {.want = want},
	[SCHED_GENERATE] = {.want = want}, [SCHED_DELIVER] = {.want = want},
};

static int want_lost(struct source *s, int on)
{
	(void)s;
	(void)on;
	return 0;
}

struct source sched_lost = {.want = want_lost};

/* How a kind comes: by a tracepoint of all CPUs or of our threads, or otherwise. */
enum { CLOSED, CPUS, THREADS, INSTEAD };
static struct {
	int (*instead)(int on); /* where there are no tracepoints; NULL: it is refused there */
	uint8_t anywhere;	/* ... by any thread, as it is not perf's */
	uint8_t wanted;
	uint8_t how;
	struct perf_event_attr attr; /* of its tracepoint */
	struct kernel_event_places places;
} kinds[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = {.instead = open_switches},
};

static uint32_t stacks_wanted;
static uint32_t strangers;   /* since the filters were made */
static uint64_t filtered_ns; /* when that was */

#define MAX_USERS 5u
static const struct perf_user *users[MAX_USERS];
static uint32_t nr_users;
static void (*wake_agent)(void);
static int agent_tid; /* 0: it has not come yet; -1: there is none */
static int changed;   /* a kind is wanted or not, and the agent has not seen it yet */
static int settled;   /* the agent has seen what was wanted when it came */

/* Which thread left a CPU last. */
struct cpu_state {
	struct perf_record out; /* ns 0: none, or it is reported */
	uint32_t last_tid, last_out;
	int32_t expected;	   /* next_pid of the last record of the kernel's */
	uint64_t last_ns, last_id; /* of the last sample */
	uint8_t last[SCHED_RECORD_BYTES];
};
static struct cpu_state *cpus;

/* Of a thread that was on its way into the kernel, or interrupted. */
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

/* @tid: the thread that did it, @tgid: its process; @other: a second thread that it is about. */
static void tell(uint32_t kind, int tid, int tgid, int other, const char *comm,
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
	SOURCE_TELL(struct sched_listener, load_acquire(&sched_sources[kind].first), &call);
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
		unknown_task(rec.prev_comm, &rec.prev_pid, &rec.prev_prio);
	}
	if (in) {
		rec.next_pid = in->tid;
		fill_task(in->tid, rec.next_comm, &rec.next_prio);
	} else {
		unknown_task(rec.next_comm, &rec.next_pid, &rec.next_prio);
	}
	tell(SCHED_SWITCH, at->tid, area->pid, rec.next_pid, out ? rec.prev_comm : rec.next_comm,
	     at, &rec, sizeof(rec));
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
	/* no thread leaves or comes twice: this is the second family of events */
	if (same)
		return;
	if (kinds[SCHED_SWITCH].how == THREADS) {
		/* the kernel's record has the thread that left; the one that came only if one of
		 * ours left */
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
 * Whether a sample may be the last one again: from another family of events, by two filters of
 * which one is about to go, or a wakeup by the other thread's context.
 */
static int is_double(const struct cpu_state *c, const struct perf_record *rec)
{
	uint64_t ago = rec->ns - c->last_ns;

	if (kinds[rec->kind].how == CPUS)
		return ago < REFILTERED_NS && rec->id != c->last_id;
	return ago < DOUBLE_NS && (rec->id != c->last_id ||
				   (rec->kind >= SCHED_WAKING && rec->kind <= SCHED_WAKEUP_NEW));
}

/* The thread that made it, by the kernel's record: a thread that is about to end has no other id
 * any more. */
static int maker_of(const struct perf_record *rec)
{
	int32_t tid = 0;

	if (rec->raw_bytes >= sizeof(struct builtin_record))
		memcpy(&tid, rec->raw + 4, sizeof(tid));
	return tid;
}

/* @tid: 0: the CPU's idle task. */
static void task_comm(int tid, uint32_t cpu, char *comm)
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
		task_comm(tid, rec->cpu, comm);
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
	const struct kernel_tracepoint *e = &sched_tracepoints[rec->kind];
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
	tell(rec->kind, tid, tgid, other, comm, rec, words, bytes);
}

/* Whose kind it is; NULL: ours. */
static const struct perf_user *user_of(uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < nr_users; i++)
		if (kind - users[i]->first < users[i]->nr)
			return users[i];
	return NULL;
}

static int any_user_open(void)
{
	uint32_t i;

	for (i = 0; i < nr_users; i++)
		if (users[i]->is_open && users[i]->is_open())
			return 1;
	return 0;
}

static void users_record(const struct perf_user *user, const struct perf_record *rec)
{
	struct ring_as as = {.tid = rec->tid,
			     .tgid = rec->pid,
			     .other = rec->tid,
			     .cpu = rec->cpu,
			     .stamp = perf_clock_stamp(rec->ns)};

	task_comm(rec->tid, rec->cpu, as.comm);
	ring_as = &as;
	user->record(rec);
	ring_as = NULL;
}

_Static_assert(RING_MAX <= 64, "a bit each in sched_loss.counted");

void sched_count_loss(struct sched_loss *loss, struct ring *r)
{
	uint64_t bit = UINT64_C(1) << r->index;

	if (!(loss->counted & bit))
		ring_count_proxy_lost(r, loss->cpu, loss->nr);
	loss->counted |= bit;
}

static void tell_loss(const struct perf_record *rec)
{
	struct sched_loss loss = {.cpu = rec->cpu, .nr = rec->lost};

	SOURCE_TELL(struct sched_lost_listener, load_acquire(&sched_lost.first), &loss);
}

static void one_record(const struct perf_record *rec)
{
	const struct perf_user *user = rec->type == PERF_RECORD_SAMPLE ? user_of(rec->kind) : NULL;

	if (user) {
		users_record(user, rec);
		return;
	}
	if (rec->type == PERF_RECORD_LOST)
		tell_loss(rec);
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

	if (how == CLOSED && any_user_open())
		return 1;
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (how ? kinds[i].how == how : kinds[i].how != CLOSED)
			return 1;
	return 0;
}

/* @late_ns: younger records wait for the next time. @last: no other thread will take a place any
 * more. */
static void drain(uint32_t late_ns, int last)
{
	uint64_t all = ~UINT64_C(0), old;
	uint32_t i;

	if (!any_open(CLOSED))
		return;
	/* a handler's records are its own thread's */
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
	perf_clock_look();
	perf_read(perf_clock_now() - late_ns, one_record);
	/* the thread that followed one that left so long ago is not ours */
	for (i = 0; cpus && i < area->nr_cpus; i++)
		if (last || perf_clock_now() - cpus[i].out.ns > LATE_NS + 1000000)
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
	filtered_ns = perf_clock_now();
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
	if (stacks_wanted && (kind == SCHED_WAKING || kind == SCHED_WAKEUP_NEW)) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = ARCH_PERF_REGS;
		attr->sample_stack_user = STACK_BYTES;
	}
	if (!cpus)
		cpus = heap_alloc(area->nr_cpus * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	attr->config =
		config ? config : kernel_event_find(&sched_tracepoints[kind], &kinds[kind].places);
	if (attr->config) {
		err = open_on_cpus(kind);
		/* no thread of ours causes a free */
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
		ring_proxy_flush();
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
			    sched_tracepoints[kind].name, err);
	return err;
}

#define CAP_SYS_ADMIN 21u
#define CAP_PERFMON   38u

static int has_capability(void)
{
	struct {
		uint32_t version;
		int32_t pid;
	} head = {0x20080522, 0};
	struct {
		uint32_t effective, permitted, inheritable;
	} caps[2] = {{0}};

	if (arch_syscall(SYS_capget, (long)&head, (long)caps, 0, 0, 0, 0))
		return 0;
	return !!(caps[0].effective & 1u << CAP_SYS_ADMIN ||
		  caps[1].effective & 1u << (CAP_PERFMON - 32));
}

/*
 * perf_event_paranoid; below 0: a user who may read tracefs may open its tracepoints. Without perf
 * there is no such file.
 */
static int paranoid(void)
{
	int fd = sys_open("/proc/sys/kernel/perf_event_paranoid", O_RDONLY | O_CLOEXEC, 0);
	char c = '9';

	if (fd < 0)
		return 9;
	sys_read(fd, &c, 1);
	sys_close(fd);
	return c == '-' ? -1 : c - '0';
}

const char *sched_perf_no_switches(void)
{
	if (sys_is_forbidden())
		return "a thread of it gave up system calls";
	if (agent_tid < 0)
		return "no agent (VESTIGE_AGENT=0), or none with descriptors of its own";
	if (!has_capability() && paranoid() > 2)
		return "perf is root's (CAP_PERFMON) alone where perf_event_paranoid is above 2";
	return NULL;
}

const char *sched_perf_no_cpus(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	if (!has_capability() && paranoid() >= 0)
		return "the kernel tells what CPUs do to root (CAP_PERFMON) alone, or where "
		       "perf_event_paranoid is -1";
	return NULL;
}

const char *sched_perf_refused(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	if (!has_capability() && paranoid() >= 0)
		return "the kernel tells wakeups to root (CAP_PERFMON) alone, or where "
		       "perf_event_paranoid is -1";
	if (!kernel_event_ids_are_ours())
		return "in a PID namespace the kernel's wakeups name no thread of it";
	return NULL;
}

static int want(struct source *s, int on)
{
	uint32_t kind = (uint32_t)(s - sched_sources);
	int err;

	if (agent_tid < 0 && kinds[kind].anywhere)
		return kinds[kind].instead(on);
	if (on && agent_tid < 0) {
		area_status("no agent (VESTIGE_AGENT=0), or none with descriptors of its own, for",
			    sched_tracepoints[kind].name, -ENODEV);
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
	sched_flush_see(any_open(CLOSED));
	return err;
}

int sched_perf_work(void)
{
	uint32_t i;

	if (changed) {
		changed = 0;
		for (i = 0; i < NR_SCHED_KINDS; i++)
			apply(i);
		for (i = 0; i < nr_users; i++)
			users[i]->apply();
		sched_flush_see(any_open(CLOSED));
	}
	store_release(&settled, 1);
	drain(LATE_NS, 0);
	if (any_open(CPUS) &&
	    (sched_threads_missed() ||
	     (strangers > MAX_STRANGERS && perf_clock_now() - filtered_ns > REFILTER_NS)))
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

/* What a user has open goes with the agent's descriptors; its apply() opens it again. */
static void stop_user(const struct perf_user *user)
{
	uint32_t i;

	if (!user->is_open || !user->is_open())
		return;
	sched_perf_drain();
	for (i = 0; i < user->nr; i++)
		perf_close(user->first + i);
	user->forget();
}

void sched_perf_stop(void)
{
	uint32_t i;

	for (i = 0; i < nr_users; i++)
		stop_user(users[i]);
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (kinds[i].how == CPUS || kinds[i].how == THREADS)
			close_kind(i);
	sched_flush_see(any_open(CLOSED));
	changed = 1;
	agent_tid = 0;
}

void sched_perf_no_agent(void)
{
	agent_tid = -1;
}

/*
 * The agent was just started: wait until it has opened what is wanted, so that nothing of the
 * program's start is missed; a fifth of a second at most. Not under the tree's lock.
 */
static void wait_for_agent(void)
{
	struct timespec nap = {.tv_nsec = 100000};
	uint64_t begin = ring_clock_mono(), ns = 0;
	uint32_t i, wanted = 0;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		wanted |= kinds[i].wanted;
	/* a sleeping thread is woken, and that would be the first record; a thread of higher
	 * priority must sleep in the end */
	for (i = 0; i < nr_users; i++)
		wanted |= !!users[i]->wanted();
	for (; wanted && ns < MAX_WAIT_NS; ns = ring_clock_mono() - begin) {
		if (load_acquire(&settled) || load_relaxed(&agent_tid) < 0)
			return;
		if (ns < YIELD_NS)
			arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			arch_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
}

/* In a child of fork: its agent opens what is on. */
static void leave_parent(void)
{
	uint32_t i;

	perf_fork();
	sched_threads_fork();
	for (i = 0; i < nr_users; i++)
		users[i]->forget();
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

void sched_perf_want_stacks(int on)
{
	stacks_wanted = on ? stacks_wanted + 1 : stacks_wanted - 1;
}

void sched_perf_add(const struct perf_user *user)
{
	if (nr_users < MAX_USERS)
		users[nr_users++] = user;
}

int sched_perf_ask(void)
{
	if (agent_tid < 0)
		return -ENODEV;
	if (agent_tid == sys_gettid())
		return 1;
	changed = 1;
	if (agent_tid)
		wake_agent();
	return 0;
}

void sched_perf_wake_by(void (*wake)(void))
{
	wake_agent = wake;
}

void sched_perf_instead(uint32_t kind, int (*see)(int on))
{
	kinds[kind].instead = see;
	kinds[kind].anywhere = 1;
}

static void start(const struct lifecycle_start *how)
{
	if (!how->with_agent)
		sched_perf_no_agent();
}

static void start_with_agent(const struct lifecycle_start *how)
{
	if (how->with_agent)
		wait_for_agent();
}

static void fork_perf(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_LEAVE)
		leave_parent();
	else if (f->when == LIFECYCLE_FORK_UNLOCKED && f->with_agent)
		wait_for_agent();
}

static void exit_perf(void)
{
	if (sys_is_forbidden() || !tree_lock_try())
		return;
	sched_perf_drain();
	tree_lock_release();
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, exit_perf);
LIFECYCLE(LIFECYCLE_AGENT_2, start_with_agent, fork_perf, NULL);
