/* SPDX-License-Identifier: MIT */
/*
 * See sched_perf.h. This file opens and closes the events; sched_records.c makes records of their
 * samples. The kernel gives samples about the process's threads through perf rings
 * (process/perf.h). The agent reports them in order of time over all CPUs, so filters and triggers
 * see them in the order in which they happened. A record is late by at most DRAIN_MS and LATE_NS.
 *
 * Where the kernel's tracepoints may be opened, a record is the kernel's own, field by field. They
 * are opened for whole CPUs, with filters that pass records about the process's threads
 * (threads.h), also records that interrupts and other processes make. In a PID namespace a process
 * does not know the ids that its threads have in the kernel's records. There they are opened for
 * each thread, and a wakeup is seen by the waker and in the woken thread's context. Where
 * tracepoints are refused, sched_switch is made of context-switch records, each of which says only
 * that a thread left a CPU or got one. Two of them become one record if one thread got the CPU as
 * the other left it; otherwise the other side is pid -1.
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
#include "engine/core/tree_lock.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/perf.h"
#include "engine/sources/perf_clock.h"
#include "engine/sources/kernel_event.h"
#include "engine/sources/sched_flush.h"
#include "engine/sources/sched_records.h"
#include "engine/sources/task.h"
#include "engine/sources/threads.h"
#include "engine/ring/proxy.h"

#define DRAIN_MS    5
#define LATE_NS	    1000000u /* a record may take that long to appear, and be out of order */
#define MAX_WAIT_NS UINT64_C(5000000000) /* for an agent that has just been started */
#define YIELD_NS    50000000u
/* samples that passed the filters, of threads that are newer than the filters and not ours */
#define MAX_STRANGERS 20000u
/* not more often: events are opened again, which takes ms on a busy machine */
#define REFILTER_NS 1000000000u
#define STACK_BYTES 1024u /* of a waker's stack */

_Static_assert(SCHED_TASKS < PERF_MAX_KINDS, "perf.h has no room for so high a kind");

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

static struct {
	/* replacement where there are no tracepoints; NULL: the kind is refused there */
	int (*instead)(int on);
	uint8_t anywhere; /* any thread may call it, as it does not use perf */
	uint8_t wanted;
	struct perf_event_attr attr; /* of its tracepoint */
} kinds[NR_SCHED_KINDS] = {
	[SCHED_SWITCH] = {.instead = open_switches},
};

struct sched_open sched_open[NR_SCHED_KINDS];

static uint32_t stacks_wanted;
static uint64_t filtered_ns; /* time at which the filters were made */

#define MAX_USERS 5u
static const struct perf_user *users[MAX_USERS];
static uint32_t nr_users;
static void (*wake_agent)(void);
static int agent_tid; /* 0: it has not started yet; -1: there is none */
static int changed;   /* what is wanted has changed, and the agent has not applied it yet */
static int settled;   /* the agent has opened what was wanted at its start */

/* The user that has the kind; NULL: this file. */
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
		if (users[i]->is_open && users[i]->is_open(users[i]))
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

	sched_records_comm(rec->tid, rec->cpu, as.comm);
	ring_as = &as;
	user->record(rec);
	ring_as = NULL;
}

static void one_record(const struct perf_record *rec)
{
	const struct perf_user *user = rec->type == PERF_RECORD_SAMPLE ? user_of(rec->kind) : NULL;

	if (user)
		users_record(user, rec);
	else
		sched_records_one(rec);
}

/* Whether a kind is open by way of @how; SCHED_CLOSED: in any way. */
static int any_open(uint32_t how)
{
	uint32_t i;

	if (how == SCHED_CLOSED && any_user_open())
		return 1;
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (how ? sched_open[i].how == how : sched_open[i].how != SCHED_CLOSED)
			return 1;
	return 0;
}

/*
 * Write records. @late_ns: records that are younger stay for the next time. @last: no more records
 * will come, so a thread that left its CPU is reported without a successor.
 */
static void drain(uint32_t late_ns, int last)
{
	uint64_t all = ~UINT64_C(0), old;

	if (!any_open(SCHED_CLOSED))
		return;
	/* a handler would make its records in the name of another thread */
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, sizeof(all), 0, 0);
	perf_clock_look();
	perf_read(perf_clock_now() - late_ns, one_record);
	sched_records_end(last);
	arch_syscall(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, sizeof(old), 0, 0);
}

void sched_perf_drain(void)
{
	drain(0, 1);
}

/* Context-switch records: a thread left its CPU or got one, and no more. */
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

/* Open a kind for the threads that are known by now and for all later ones. */
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

/* Make new filters: the threads have changed, or the filters let too many strangers pass. */
static void refilter(void)
{
	uint32_t i, newest = sched_threads_newest();

	drain(0, 0);
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (sched_open[i].how == SCHED_BY_CPUS)
			open_filtered(i, newest);
	sched_records_refiltered();
	filtered_ns = perf_clock_now();
}

/*
 * Open a kind with filters. A new kind also needs the threads that older kinds have seen: their
 * filters pass threads that were made since.
 */
static int open_on_cpus(uint32_t kind)
{
	struct perf_event_attr tasks = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.task = 1};
	int err = 0, first = !any_open(SCHED_BY_CPUS);
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
		sched_open[kind].how = SCHED_BY_CPUS;
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

	config = attr->config; /* of an earlier time, such as a fork's parent */
	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_TRACEPOINT, .sample_type = PERF_SAMPLE_RAW, .sample_period = 1};
	if (stacks_wanted && (kind == SCHED_WAKING || kind == SCHED_WAKEUP_NEW)) {
		attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr->sample_regs_user = ARCH_PERF_REGS;
		attr->sample_stack_user = STACK_BYTES;
	}
	if (sched_records_start())
		return -ENOMEM;
	attr->config =
		config ? config
		       : kernel_event_find(&sched_tracepoints[kind], &sched_open[kind].places);
	if (attr->config) {
		err = open_on_cpus(kind);
		/* the free of a task is not caused by a thread of the process */
		if (!err || kind == SCHED_FREE)
			return err;
		attr->context_switch = kind == SCHED_SWITCH;
		err = perf_open(kind, attr);
	}
	if (!err)
		sched_open[kind].how = SCHED_BY_THREADS;
	if (!err || !kinds[kind].instead)
		return err;
	err = kinds[kind].instead(1);
	if (!err)
		sched_open[kind].how = SCHED_BY_OTHER;
	return err;
}

static void close_kind(uint32_t kind)
{
	uint32_t how = sched_open[kind].how;

	sched_perf_drain();
	if (how == SCHED_BY_OTHER)
		kinds[kind].instead(0);
	else
		perf_close(kind);
	sched_open[kind].how = SCHED_CLOSED;
	if (how == SCHED_BY_CPUS && !any_open(SCHED_BY_CPUS)) {
		perf_close(SCHED_TASKS);
		sched_threads_stop();
	}
	if (!any_open(SCHED_CLOSED))
		ring_proxy_flush();
}

/* Open or close @kind as `wanted` says. */
static int apply(uint32_t kind)
{
	int err = 0;

	sched_threads_children(kinds[SCHED_FREE].wanted);
	if (kinds[kind].wanted && sched_open[kind].how == SCHED_CLOSED)
		err = open_kind(kind);
	else if (!kinds[kind].wanted && sched_open[kind].how != SCHED_CLOSED)
		close_kind(kind);
	if (err)
		area_status("the kernel refuses this process (see perf_event_paranoid):",
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
 * perf_event_paranoid. Below 0, a user who may read tracefs may open its tracepoints. The file does
 * not exist without perf.
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

/*
 * perf_event_paranoid as it applies here: with CAP_PERFMON nothing is refused. It is read once
 * while the engine starts, because each event and tracer asks; later the program may have other
 * rights.
 */
static int refusals(void)
{
	static int32_t asked_by;
	static int answer;

	if (load_relaxed(&area->state) != AREA_STARTING || asked_by != area->pid) {
		answer = has_capability() ? -1 : paranoid();
		asked_by = area->pid;
	}
	return answer;
}

const char *sched_perf_no_switches(void)
{
	if (sys_is_forbidden())
		return "a thread of it gave up system calls";
	if (agent_tid < 0)
		return "no agent (VESTIGE_AGENT=0), or none with descriptors of its own";
	if (refusals() > 2)
		return "perf is root's (CAP_PERFMON) alone where perf_event_paranoid is above 2";
	return NULL;
}

const char *sched_perf_no_cpus(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	if (refusals() >= 0)
		return "what CPUs do is for root (CAP_PERFMON) alone, unless "
		       "perf_event_paranoid is -1";
	return NULL;
}

const char *sched_perf_refused(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	if (refusals() >= 0)
		return "wakeups are for root (CAP_PERFMON) alone, unless "
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
		/*
		 * the agent must own the descriptors: it reports in vestige_status what is refused
		 */
		changed = 1;
		if (agent_tid)
			wake_agent();
		return 0;
	}
	err = apply(kind);
	if (err)
		kinds[kind].wanted = 0;
	sched_flush_see(any_open(SCHED_CLOSED));
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
			users[i]->apply(users[i]);
		sched_flush_see(any_open(SCHED_CLOSED));
	}
	store_release(&settled, 1);
	drain(LATE_NS, 0);
	if (any_open(SCHED_BY_CPUS) &&
	    (sched_threads_missed() || (sched_records_strangers() > MAX_STRANGERS &&
					perf_clock_now() - filtered_ns > REFILTER_NS)))
		refilter();
	return any_open(SCHED_CLOSED) ? DRAIN_MS : -1;
}

uint32_t sched_perf_descriptors(int *fds, uint32_t max)
{
	return any_open(SCHED_CLOSED) ? perf_descriptors(fds, max) : 0;
}

void sched_perf_agent(void)
{
	agent_tid = sys_gettid();
}

/* The agent's descriptors close, and with them a user's events; its apply() opens them again. */
static void stop_user(const struct perf_user *user)
{
	uint32_t i;

	if (!user->is_open || !user->is_open(user))
		return;
	sched_perf_drain();
	for (i = 0; i < user->nr; i++)
		perf_close(user->first + i);
	user->forget(user);
}

void sched_perf_stop(void)
{
	uint32_t i;

	for (i = 0; i < nr_users; i++)
		stop_user(users[i]);
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (sched_open[i].how == SCHED_BY_CPUS || sched_open[i].how == SCHED_BY_THREADS)
			close_kind(i);
	sched_flush_see(any_open(SCHED_CLOSED));
	changed = 1;
	agent_tid = 0;
}

void sched_perf_no_agent(void)
{
	agent_tid = -1;
}

/*
 * The agent was just started: wait until it has opened what is wanted, so that no event of the
 * program's start is missed. On a busy machine it may take a second until the kernel has run the
 * agent and opened everything. The limit is for an agent that a debugger has stopped. Not under the
 * tree lock.
 */
static void wait_for_agent(void)
{
	struct timespec nap = {.tv_nsec = 100000};
	uint64_t begin = ring_clock_mono(), ns = 0;
	uint32_t i, wanted = 0;

	for (i = 0; i < NR_SCHED_KINDS; i++)
		wanted |= kinds[i].wanted;
	/*
	 * do not sleep: the wakeup would be the first record; but a thread of higher priority must
	 * sleep at last
	 */
	for (i = 0; i < nr_users; i++)
		wanted |= !!users[i]->wanted(users[i]);
	for (; wanted && ns < MAX_WAIT_NS; ns = ring_clock_mono() - begin) {
		if (load_acquire(&settled) || load_relaxed(&agent_tid) < 0)
			return;
		if (ns < YIELD_NS)
			arch_syscall(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
		else
			arch_syscall(SYS_nanosleep, (long)&nap, 0, 0, 0, 0, 0);
	}
	if (wanted)
		area_status("the agent did not come in time, so the first events of perf are lost",
			    NULL, -ETIMEDOUT);
}

/* In a fork's child: its agent opens what is on. */
static void leave_parent(void)
{
	uint32_t i;

	perf_fork();
	sched_threads_fork();
	for (i = 0; i < nr_users; i++)
		users[i]->forget(users[i]);
	for (i = 0; i < NR_SCHED_KINDS; i++)
		if (sched_open[i].how == SCHED_BY_THREADS || !kinds[i].anywhere)
			sched_open[i].how = SCHED_CLOSED;
	sched_records_fork();
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
	if (sys_is_forbidden() || !tree_lock_try(TREE_LAST_NS))
		return;
	sched_perf_drain();
	tree_lock_release();
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, exit_perf);
LIFECYCLE(LIFECYCLE_AGENT_2, start_with_agent, fork_perf, NULL);
