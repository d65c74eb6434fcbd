/* SPDX-License-Identifier: MIT */
/*
 * sched_switch and its like. The kernel tells them of our own threads through perf rings (core/perf.h),
 * and the agent writes the records for the threads, in order of time over all CPUs, so that filters and
 * triggers see them as they happened; a record is late by DRAIN_MS at most.
 *
 * Where the kernel's tracepoints may be opened, a record is the kernel's own, field by field; a
 * wakeup is told by the waker and by the woken thread's context, so those by interrupts and other processes
 * are seen. Elsewhere sched_switch is made of context-switch records, which say that a thread
 * left or came and no more: both are one record when one came as the other left; else the other side is
 * pid -1.
 *
 * fork: the child's agent opens its own. Tests: tests/engine/events/sched.
 */
#include "engine/events/sched_perf.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <sys/vfs.h>

#include "arch_clock.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/core/area.h"
#include "engine/core/heap.h"
#include "engine/core/perf.h"
#include "engine/events/own_event.h"
#include "engine/events/sched_task.h"
#include "engine/events/signal_event.h"
#include "engine/ring/foreign.h"

#define DRAIN_MS	5
#define PAIR_NS		10000u /* between one that leaves and the one that comes in its place */
#define DOUBLE_NS	1000u  /* between two tellings of one event */
#define MAX_FORMAT	8192u
#define MAX_FIELDS	8u
#define TASK_REPORT_MAX 0x100 /* prev_state of one that could go on */
#define TASK_SLEEPS	1     /* S: which sleep it is, a context switch does not say */

struct switch_record {
	struct own_record head;
	char prev_comm[TASK_COMM_BYTES];
	int32_t prev_pid;
	int32_t prev_prio;
	int64_t prev_state;
	char next_comm[TASK_COMM_BYTES];
	int32_t next_pid;
	int32_t next_prio;
};

struct wakeup_record {
	struct own_record head;
	char comm[TASK_COMM_BYTES];
	int32_t pid;
	int32_t prio;
	int32_t target_cpu;
};

static const struct vestige_event_field switch_fields[] = {
	OWN_FIELD(struct switch_record, prev_comm, "char[16]", 0),
	OWN_FIELD(struct switch_record, prev_pid, "pid_t", 1),
	OWN_FIELD(struct switch_record, prev_prio, "int", 1),
	OWN_FIELD(struct switch_record, prev_state, "long", 1),
	OWN_FIELD(struct switch_record, next_comm, "char[16]", 0),
	OWN_FIELD(struct switch_record, next_pid, "pid_t", 1),
	OWN_FIELD(struct switch_record, next_prio, "int", 1),
	OWN_FIELDS_END,
};
static const struct vestige_event_field wakeup_fields[] = {
	OWN_FIELD(struct wakeup_record, comm, "char[16]", 0),
	OWN_FIELD(struct wakeup_record, pid, "pid_t", 1),
	OWN_FIELD(struct wakeup_record, prio, "int", 1),
	OWN_FIELD(struct wakeup_record, target_cpu, "int", 1),
	OWN_FIELDS_END,
};

#define STATES                                                                                     \
	"(((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | "        \
	"0x00000020 | 0x00000040) + 1) << 1)"
#define SWITCH_PRINT                                                                               \
	"\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d "    \
	"next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, (REC->prev_state & "       \
	"(" STATES " - 1)) ? __print_flags(REC->prev_state & (" STATES " - 1), \"|\", "            \
	"{ 0x00000001, \"S\" }, { 0x00000002, \"D\" }, { 0x00000004, \"T\" }, "                    \
	"{ 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, "                    \
	"{ 0x00000040, \"P\" }, { 0x00000080, \"I\" }) : \"R\", REC->prev_state & " STATES         \
	" ? \"+\" : \"\", REC->next_comm, REC->next_pid, REC->next_prio"
#define WAKEUP_PRINT                                                                               \
	"\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "             \
	"REC->target_cpu"

enum { SWITCH, WAKING, WAKEUP, WAKEUP_NEW, NR_SCHED, GENERATE = NR_SCHED, DELIVER, NR_KINDS };
_Static_assert(NR_KINDS <= PERF_MAX_KINDS, "perf.h tells kinds apart by these numbers");

static struct own_event sched_rows[NR_SCHED] = {
	[SWITCH] = {"sched", "sched_switch", switch_fields, SWITCH_PRINT, sched_perf_enable},
	[WAKING] = {"sched", "sched_waking", wakeup_fields, WAKEUP_PRINT, sched_perf_enable},
	[WAKEUP] = {"sched", "sched_wakeup", wakeup_fields, WAKEUP_PRINT, sched_perf_enable},
	[WAKEUP_NEW] = {"sched", "sched_wakeup_new", wakeup_fields, WAKEUP_PRINT,
			sched_perf_enable},
};

static int open_switches(int on);

/* How a kind comes. */
enum { CLOSED, TRACEPOINT, INSTEAD };
static struct {
	struct own_event *row;
	int (*instead)(int on); /* where there are no tracepoints; NULL: it is refused there */
	uint8_t anywhere;	/* ... by any thread, as it is not perf's */
	uint8_t wanted;
	uint8_t how;
	uint16_t from[MAX_FIELDS]; /* of each field in the kernel's record */
} kinds[NR_KINDS] = {
	[SWITCH] = {.row = &sched_rows[SWITCH], .instead = open_switches},
	[WAKING] = {.row = &sched_rows[WAKING]},
	[WAKEUP] = {.row = &sched_rows[WAKEUP]},
	[WAKEUP_NEW] = {.row = &sched_rows[WAKEUP_NEW]},
	[GENERATE] = {.row = &signal_generate_event, .instead = signal_calls_see, .anywhere = 1},
	[DELIVER] = {.row = &signal_deliver_event, .instead = signal_handlers_see, .anywhere = 1},
};

static void (*wake_agent)(void);
static int agent_tid; /* 0: it has not come yet; -1: there is none */
static int changed;   /* a kind is wanted or not, and the agent has not seen it yet */

/* Which thread left a CPU last. */
struct cpu_state {
	struct perf_record out; /* ns 0: nobody, or it is told */
	uint32_t last_tid, last_out;
	int32_t expected;	   /* next_pid of the last record of the kernel's */
	uint64_t last_ns, last_id; /* of the last sample */
	uint8_t last[sizeof(struct switch_record)];
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

/* @other: the other thread that it is about. */
static void write_as(const struct own_event *e, int tid, int other, const char *comm,
		     const struct perf_record *rec, const void *record, uint32_t bytes)
{
	struct ring_as as = {
		.tid = tid, .other = other, .cpu = rec->cpu, .stamp = stamp_of(rec->ns)};

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
	struct switch_record rec = {.prev_state = 0};

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
	write_as(kinds[SWITCH].row, at->tid, rec.next_pid, out ? rec.prev_comm : rec.next_comm, at,
		 &rec, sizeof(rec));
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
	if (kinds[SWITCH].how == TRACEPOINT) {
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
 * Whether a sample may be the last one again: told by another family of events, or a wakeup by the other
 * thread's context.
 */
static int is_double(const struct cpu_state *c, const struct perf_record *rec)
{
	return rec->ns - c->last_ns < DOUBLE_NS &&
	       (rec->id != c->last_id || (rec->kind >= WAKING && rec->kind <= WAKEUP_NEW));
}

/* Whom it is about beside the thread that made it. */
static int other_of(const struct perf_record *rec, const void *record)
{
	if (rec->kind == SWITCH)
		return ((const struct switch_record *)record)->next_pid;
	return rec->kind < NR_SCHED ? ((const struct wakeup_record *)record)->pid : rec->tid;
}

/* A record of the kernel's, in our format: the fields are the same, their places need not be. */
static void sample(struct cpu_state *c, const struct perf_record *rec)
{
	uint64_t words[sizeof(struct switch_record) / 8] = {0};
	const struct own_event *e = kinds[rec->kind].row;
	const struct vestige_event_field *f;
	uint8_t *to = (uint8_t *)words;
	uint32_t i, bytes = 8;
	char comm[TASK_COMM_BYTES];
	int32_t prio;

	for (i = 0, f = e->fields; f->type; i++, f++) {
		if (kinds[rec->kind].from[i] + f->size > rec->raw_bytes)
			return;
		memcpy(to + f->offset, rec->raw + kinds[rec->kind].from[i], f->size);
		bytes = f->offset + f->size;
	}
	*(uint32_t *)to = rec->kind;
	*(int32_t *)(to + 4) = rec->tid;
	if (is_double(c, rec) && !memcmp(c->last, to, bytes))
		return;
	c->last_ns = rec->ns;
	c->last_id = rec->id;
	memcpy(c->last, to, bytes);
	if (rec->kind == SWITCH)
		c->expected = other_of(rec, words);
	fill_task(rec->tid, comm, &prio);
	write_as(e, rec->tid, other_of(rec, words), comm, rec, words, bytes);
}

static void lost(const struct perf_record *rec)
{
	const struct event_file *f;
	uint32_t i;

	for (i = 0; i < NR_KINDS; i++)
		for (f = kinds[i].row->event ? kinds[i].row->event->files : NULL; f; f = f->next)
			if (event_file_is_on(f) && f->tr->ring)
				ring_count_foreign_lost(f->tr->ring, rec->cpu, rec->lost);
}

static void one_record(const struct perf_record *rec)
{
	if (rec->type == PERF_RECORD_LOST)
		lost(rec);
	else if (rec->kind >= NR_KINDS)
		return;
	else if (rec->type == PERF_RECORD_SWITCH)
		context_switch(&cpus[rec->cpu], rec);
	else if (rec->type == PERF_RECORD_SAMPLE && kinds[rec->kind].how == TRACEPOINT)
		sample(&cpus[rec->cpu], rec);
}

static int any_open(void)
{
	uint32_t i;

	for (i = 0; i < NR_KINDS; i++)
		if (kinds[i].how != CLOSED)
			return 1;
	return 0;
}

void sched_perf_drain(void)
{
	uint64_t all = ~UINT64_C(0), old;
	uint32_t i;

	if (!cpus || !any_open())
		return;
	/* what a handler records is its own thread's */
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
	look_at_clock();
	perf_read(one_record);
	/* whoever came in the place of one that left so long ago is not ours */
	for (i = 0; i < area->nr_cpus; i++)
		if (now.mono - cpus[i].out.ns > 1000000)
			tell_out(&cpus[i]);
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0, 0);
}

static int is_tracefs(const char *path)
{
	struct statfs fs;

	return !arch_syscall(SYS_statfs, (long)path, (long)&fs, 0, 0, 0, 0) &&
	       fs.f_type == TRACEFS_MAGIC;
}

static long read_kernel_file(const struct own_event *e, const char *file, char *text,
			     uint32_t bytes)
{
	static const char *const roots[] = {"/sys/kernel/tracing/", "/sys/kernel/debug/tracing/"};
	char path[128];
	struct seq_buf s;
	uint32_t i;
	long n = -ENOENT;
	int fd;

	for (i = 0; i < ARRAY_SIZE(roots); i++) {
		/* `vestige enter` lays a process's own files there, which would ask us for them */
		if (!is_tracefs(roots[i]))
			continue;
		seq_init(&s, path, sizeof(path) - 1);
		seq_puts(&s, roots[i]);
		seq_puts(&s, "events/");
		seq_puts(&s, e->system);
		seq_putc(&s, '/');
		seq_puts(&s, e->name);
		seq_puts(&s, file);
		path[s.len] = 0;
		fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0) {
			n = fd;
			continue;
		}
		n = sys_read(fd, text, bytes - 1);
		sys_close(fd);
		text[n > 0 ? n : 0] = 0;
		return n;
	}
	return n;
}

/* Where the format has `NAME;` or `NAME[N];`, TAB, `offset:N`. Return: N; -1: it has no such field. */
static int field_offset(const char *format, const char *name)
{
	size_t n = strlen(name);
	const char *p;
	uint64_t v = 0;

	for (p = format; *p; p++) {
		if (*p != ' ' || memcmp(p + 1, name, n) || (p[1 + n] != ';' && p[1 + n] != '['))
			continue;
		while (*p && !str_starts(p, "offset:"))
			p++;
		for (p += *p ? 7 : 0; *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint64_t)(*p - '0');
		return (int)v;
	}
	return -1;
}

/* Return: the kernel's number for the tracepoint, its fields found; 0: not to be had. */
static uint64_t find_tracepoint(uint32_t kind)
{
	const struct own_event *e = kinds[kind].row;
	const struct vestige_event_field *f = e->fields;
	char id[32], *format = heap_alloc(MAX_FORMAT);
	uint64_t v = 0;
	long n;
	int i, at;

	if (!format)
		return 0;
	n = read_kernel_file(e, "/id", id, sizeof(id));
	if (n > 0 && !str_to_u64(id, (size_t)n, &v) &&
	    read_kernel_file(e, "/format", format, MAX_FORMAT) <= 0)
		v = 0;
	for (i = 0; v && f[i].type; i++) {
		at = field_offset(format, f[i].name);
		kinds[kind].from[i] = (uint16_t)at;
		if (at < 0)
			v = 0;
	}
	heap_free(format);
	return v;
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
		return perf_open(SWITCH, &attr);
	perf_close(SWITCH);
	return 0;
}

static int open_kind(uint32_t kind)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
				       .config = find_tracepoint(kind),
				       .sample_type = PERF_SAMPLE_RAW,
				       .sample_period = 1,
				       .context_switch = kind == SWITCH};
	int err = -EACCES;

	if (!cpus)
		cpus = heap_alloc(area->nr_cpus * sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	if (attr.config)
		err = perf_open(kind, &attr);
	if (!err)
		kinds[kind].how = TRACEPOINT;
	if (!err || !kinds[kind].instead)
		return err;
	err = kinds[kind].instead(1);
	if (!err)
		kinds[kind].how = INSTEAD;
	return err;
}

static void close_kind(uint32_t kind)
{
	sched_perf_drain();
	if (kinds[kind].how == TRACEPOINT)
		perf_close(kind);
	else
		kinds[kind].instead(0);
	kinds[kind].how = CLOSED;
	if (!any_open())
		ring_foreign_flush();
}

/* As @kind is wanted now. */
static int apply(uint32_t kind)
{
	int err = 0;

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
		area_status("there is no agent (VESTIGE_AGENT=0) for", e->name, -ENODEV);
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
	return err;
}

int sched_perf_work(void)
{
	uint32_t i;

	if (changed) {
		changed = 0;
		for (i = 0; i < NR_KINDS; i++)
			apply(i);
	}
	sched_perf_drain();
	return any_open() ? DRAIN_MS : -1;
}

uint32_t sched_perf_descriptors(int *fds, uint32_t max)
{
	return any_open() ? perf_descriptors(fds, max) : 0;
}

void sched_perf_agent(void)
{
	agent_tid = sys_gettid();
}

void sched_perf_no_agent(void)
{
	agent_tid = -1;
}

void sched_perf_fork(void)
{
	uint32_t i;

	perf_fork();
	for (i = 0; i < NR_KINDS; i++)
		if (kinds[i].how == TRACEPOINT || !kinds[i].anywhere)
			kinds[i].how = CLOSED;
	if (cpus)
		memset(cpus, 0, area->nr_cpus * sizeof(*cpus));
	changed = 1;
	if (agent_tid > 0)
		agent_tid = 0;
}

int sched_perf_start(void (*wake)(void))
{
	wake_agent = wake;
	return own_events_add(sched_rows, NR_SCHED) || own_events_add(&signal_generate_event, 1) ||
			       own_events_add(&signal_deliver_event, 1)
		       ? -ENOMEM
		       : 0;
}
