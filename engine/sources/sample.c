/* SPDX-License-Identifier: MIT */
/*
 * See sample.h. Each thread has a perf event that counts its task clock and sends the signal to the
 * thread, or, if perf refuses, a timer of its CPU time. The agent owns all of them: when a thread
 * begins or ends, it looks for new and ended threads.
 *
 * No system call of the program is interrupted: perf's event counts the program's own code alone,
 * and the kernel checks timers of CPU time on its return to that code. (Before Linux 5.11 it did so
 * in its interrupt, and a waiting call may end with EINTR; there, timers are not used.)
 *
 * fork: the child's agent makes its own. exec: the kernel removes them. Costs: bench "sysprof".
 * Tests: tests/engine/tracers/sysprof.
 */
#include "engine/sources/sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/utsname.h>
#include <time.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/process/thread_list.h"
#include "engine/sources/process.h"
#include "engine/sources/sample_signal.h"
#include "engine/sources/sched_perf.h"

#define PERIOD_NS  (1000000000u / SAMPLE_HZ)
#define CLOEXEC	   8 /* PERF_FLAG_FD_CLOEXEC */
#define IOC_ENABLE 0x2400

/* The event or timer of a thread. */
struct row {
	int tid;
	int fd;	   /* of the event; -1: the thread has a timer */
	int timer; /* the kernel's number of the timer */
	int seen;
};

static struct row *rows;
static uint32_t nr_rows, room;
static int agent; /* thread id of the agent that opened these descriptors */
static int is_on;
static int perf_err; /* why timers are used; 0: perf is */
static uint32_t tick_ns;
static uint32_t generation; /* counts how often samples were switched on */

static int open_event(int tid, struct row *r)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_TASK_CLOCK,
				       .sample_period = PERIOD_NS,
				       .wakeup_events = 1,
				       .disabled = 1,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	const struct f_owner_ex owner = {F_OWNER_TID, tid};
	long fd, err;

	fd = arch_syscall(SYS_perf_event_open, (long)&attr, tid, -1, -1, CLOEXEC, 0);
	if (fd < 0)
		return (int)fd;
	err = arch_syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_ASYNC, 0, 0, 0);
	if (!err)
		err = arch_syscall(SYS_fcntl, fd, F_SETSIG, SAMPLE_SIGNAL, 0, 0, 0);
	if (!err)
		err = arch_syscall(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner, 0, 0, 0);
	if (!err)
		err = arch_syscall(SYS_ioctl, fd, IOC_ENABLE, 0, 0, 0, 0);
	if (err) {
		sys_close((int)fd);
		return (int)err;
	}
	r->fd = (int)fd;
	return 0;
}

/* Whether timers of CPU time interrupt no call: since Linux 5.11. */
static int timers_are_late(void)
{
	struct utsname u;
	uint64_t major, minor;
	const char *p;

	if (arch_syscall(SYS_uname, (long)&u, 0, 0, 0, 0, 0))
		return 0;
	p = u.release + text_decimal(u.release, SIZE_MAX, &major);
	text_decimal(p + (*p == '.'), SIZE_MAX, &minor);
	return major > 5 || (major == 5 && minor >= 11);
}

static int make_timer(int tid, struct row *r)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
				 .sigev_signo = SAMPLE_SIGNAL,
				 .sigev_value.sival_ptr = &rows};
	struct itimerspec each = {{0, tick_ns}, {0, tick_ns}};
	long err;

	if (!timers_are_late())
		return -EOPNOTSUPP;
	event._sigev_un._tid = tid;
	err = arch_syscall(SYS_timer_create, sys_thread_clock(tid), (long)&event, (long)&r->timer,
			   0, 0, 0);
	if (err)
		return (int)err;
	r->fd = -1;
	err = arch_syscall(SYS_timer_settime, r->timer, 0, (long)&each, 0, 0, 0);
	if (err)
		arch_syscall(SYS_timer_delete, r->timer, 0, 0, 0, 0, 0);
	return (int)err;
}

static void end_row(const struct row *r)
{
	if (r->fd < 0)
		arch_syscall(SYS_timer_delete, r->timer, 0, 0, 0, 0, 0);
	else if (agent == sys_gettid())
		sys_close(r->fd);
}

/* Open an event or timer for a thread. A thread that has just ended is no error. */
static int begin_row(int tid)
{
	struct row *more = heap_grow(rows, nr_rows, &room, sizeof(*more));
	struct row r = {.tid = tid, .seen = 1};
	int err;

	if (!more)
		return -ENOMEM;
	rows = more;
	err = perf_err ? perf_err : open_event(tid, &r);
	if (err && err != -ESRCH) {
		perf_err = err;
		err = make_timer(tid, &r);
		if (err == -EINVAL)
			err = -ESRCH;
	}
	if (!err)
		rows[nr_rows++] = r;
	return err == -ESRCH ? 0 : err;
}

static int see_thread(int tid, void *data)
{
	uint32_t i;

	(void)data;
	if (tid == agent)
		return 0;
	for (i = 0; i < nr_rows; i++)
		if (rows[i].tid == tid) {
			rows[i].seen = 1;
			return 0;
		}
	return begin_row(tid);
}

static void end_unseen(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < nr_rows; i++)
		if (rows[i].seen)
			rows[n++] = rows[i];
		else
			end_row(&rows[i]);
	nr_rows = n;
}

/* A new agent drops the rows of an agent that has ended: its descriptors are closed. */
static void take_over(void)
{
	uint32_t i, n = 0;

	for (i = 0; i < nr_rows && agent != sys_gettid(); i++)
		if (rows[i].fd < 0)
			rows[n++] = rows[i];
	if (agent != sys_gettid())
		nr_rows = n;
	agent = sys_gettid();
}

/* Open or close as `is_on` says. The agent. */
static int apply_now(void)
{
	uint32_t i, before;
	int err = 0;

	take_over();
	for (i = 0; i < nr_rows; i++)
		rows[i].seen = 0;
	/*
	 * a thread that starts meanwhile was made by a thread that this loop sees, or wakes the
	 * agent again
	 */
	do {
		before = nr_rows;
		if (is_on)
			err = thread_list_each(see_thread, NULL);
	} while (!err && nr_rows != before);
	end_unseen();
	return err;
}

static void apply(const struct perf_user *user)
{
	int err = apply_now();

	(void)user;
	if (err)
		area_status("a thread cannot be sampled", NULL, err);
}

static int wanted(const struct perf_user *user)
{
	(void)user;
	return is_on;
}

static void forget(const struct perf_user *user)
{
	(void)user;
	nr_rows = 0;
	agent = 0;
	/* the CPU time of a fork's child begins at 0 */
	store_relaxed(&generation, generation + 1);
}

static const struct perf_user perf_user = {.apply = apply, .wanted = wanted, .forget = forget};

static void look_again(int id)
{
	(void)id;
	sched_perf_ask();
}

static void look_again_at_end(void)
{
	sched_perf_ask();
}

static struct process_listener on_fork = {.call = look_again};
static struct process_end_listener on_end = {.call = look_again_at_end};

static __thread struct {
	uint32_t generation;
	uint64_t ns; /* CPU time of the thread at its last sample */
} thread_last __attribute__((tls_model("initial-exec")));

/* Missed samples by the thread's own clock: while the signal is blocked, perf sends only one. */
static uint64_t missed_since(void)
{
	uint32_t now_is = load_relaxed(&generation);
	struct timespec t;
	uint64_t ns, before = thread_last.ns;

	if (arch_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0, 0, 0, 0))
		return 0;
	ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	thread_last.ns = ns;
	if (thread_last.generation != now_is) {
		thread_last.generation = now_is;
		return 0;
	}
	/* a sample that is a little late does not mean that one was missed */
	return ns - before > PERIOD_NS + PERIOD_NS / 2 ? (ns - before - PERIOD_NS / 2) / PERIOD_NS
						       : 0;
}

static int handle(const siginfo_t *info, void *context)
{
	const struct source_link *first = load_acquire(&samples.first);
	struct sample s = {.context = context};

	if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &rows)
		s.missed = (uint64_t)(unsigned int)info->si_overrun;
	else if (info->si_code == POLL_IN || info->si_code == POLL_HUP)
		s.missed = first ? missed_since() : 0;
	else
		return 0;
	if (first)
		SOURCE_NOTIFY(struct sample_listener, first, &s);
	return 1;
}

static void stop_looking(void)
{
	source_ignore(&process_forks, &on_fork.link);
	source_ignore(&process_ends, &on_end.link);
}

static int look_for_threads(void)
{
	int err = source_listen(&process_forks, &on_fork.link);

	if (!err)
		err = source_listen(&process_ends, &on_end.link);
	if (err)
		stop_looking();
	return err;
}

static void end(void)
{
	is_on = 0;
	if (sched_perf_ask() > 0)
		apply_now();
	stop_looking();
	sample_signal_give_back();
}

static int begin(void)
{
	struct timespec tick = {.tv_nsec = 0};
	int ask = sched_perf_ask(), err;

	if (ask < 0)
		return ask;
	arch_syscall(SYS_clock_getres, CLOCK_MONOTONIC_COARSE, (long)&tick, 0, 0, 0, 0);
	tick_ns = tick.tv_nsec > 0 && !tick.tv_sec ? (uint32_t)tick.tv_nsec : 10000000u;
	err = sample_signal_take(handle);
	if (err)
		return err;
	err = look_for_threads();
	if (err) {
		sample_signal_give_back();
		return err;
	}
	perf_err = 0;
	store_relaxed(&generation, generation + 1);
	is_on = 1;
	err = ask > 0 ? apply_now() : 0;
	if (err)
		end();
	return err;
}

static int want(struct source *s, int on)
{
	(void)s;
	if (on)
		return begin();
	end();
	return 0;
}

struct source samples = {.want = want};

struct sample_how sample_how(void)
{
	return (struct sample_how){.hz = perf_err ? 1000000000u / tick_ns : SAMPLE_HZ,
				   .perf_err = perf_err};
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	sched_perf_add(&perf_user);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
