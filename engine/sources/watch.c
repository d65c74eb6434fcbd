/* SPDX-License-Identifier: MIT */
/*
 * See watch.h. Each row is a kind of perf's records (process/perf.h): one event for each thread and
 * CPU, which new threads inherit. The agent owns the descriptors. A thread that has the events of
 * two families makes two samples of an access; the second is dropped. fork: the child's agent opens
 * its own.
 * Tests: tests/engine/tracers/ksym_tracer.
 */
#include "engine/sources/watch.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/process/area.h"
#include "engine/process/perf.h"
#include "engine/ring/proxy.h"
#include "engine/sources/sched_perf.h"

#define FIRST_KIND (SCHED_TASKS + 1u)
#define DOUBLE_NS  1000u

_Static_assert(FIRST_KIND + WATCH_MAX <= PERF_MAX_KINDS, "perf.h has no room for so high a kind");

static struct watch rows[WATCH_MAX], opened[WATCH_MAX];
static int is_on;
static struct perf_record last[WATCH_MAX];

static int any_open(void)
{
	uint32_t i;

	for (i = 0; i < WATCH_MAX && !opened[i].type; i++)
		;
	return i < WATCH_MAX;
}

static int same(const struct watch *a, const struct watch *b)
{
	return a->address == b->address && a->bytes == b->bytes && a->type == b->type;
}

/*
 * Whether the processor really stops at its debug registers. Some hypervisors accept the settings,
 * but never report an access. In the agent.
 */
static int debug_registers_work(void)
{
	static volatile uint64_t watched;
	static int works = -1; /* -1: not known yet */
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .size = sizeof(attr),
				       .bp_type = HW_BREAKPOINT_W,
				       .bp_addr = (uintptr_t)&watched,
				       .bp_len = HW_BREAKPOINT_LEN_8,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	uint64_t hits = 0;
	long fd;

	if (works >= 0)
		return works;
	fd = arch_syscall(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
	if (fd < 0)
		return 1; /* let perf_open() fail and say why */
	watched = 1;
	works = arch_syscall(SYS_read, fd, (long)&hits, sizeof(hits), 0, 0, 0) != sizeof(hits) ||
		hits;
	sys_close((int)fd);
	return works;
}

/* Open or close row @i as is wanted now. In the agent. */
static int apply_row(uint32_t i)
{
	static const struct watch none;
	const struct watch *w = is_on ? &rows[i] : &none;
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
				       .bp_type = w->type,
				       .bp_addr = w->address,
				       .bp_len = w->bytes,
				       .sample_period = 1,
				       .sample_type = PERF_SAMPLE_IP,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int err;

	if (same(&opened[i], w))
		return 0;
	if (opened[i].type) {
		sched_perf_drain();
		perf_close(FIRST_KIND + i);
		opened[i] = none;
	}
	if (!w->type) {
		if (!any_open())
			ring_proxy_flush();
		return 0;
	}
	err = debug_registers_work() ? perf_open(FIRST_KIND + i, &attr) : -ENODEV;
	if (err)
		rows[i] = none;
	else
		opened[i] = *w;
	return err;
}

static void apply(const struct perf_user *user)
{
	uint32_t i;
	int err;

	(void)user;
	for (i = 0; i < WATCH_MAX; i++) {
		err = apply_row(i);
		if (err)
			area_status(
				err == -ENODEV
					? "a variable cannot be watched: the machine's debug "
					  "registers report no access"
					: "a variable cannot be watched (see perf_event_paranoid)",
				NULL, err);
	}
}

static int wanted(const struct perf_user *user)
{
	uint32_t i;

	(void)user;
	for (i = 0; i < WATCH_MAX; i++)
		if (is_on && rows[i].type)
			return 1;
	return 0;
}

static void forget(const struct perf_user *user)
{
	uint32_t i;

	(void)user;
	for (i = 0; i < WATCH_MAX; i++)
		opened[i] = (struct watch){0};
}

static void record(const struct perf_record *rec)
{
	uint32_t i = rec->kind - FIRST_KIND;
	const struct perf_record *l = &last[i];
	int twice = l->tid == rec->tid && l->ip == rec->ip && l->id != rec->id &&
		    rec->ns - l->ns < DOUBLE_NS;

	last[i] = *rec;
	if (!twice)
		SOURCE_NOTIFY(struct watch_listener, load_acquire(&watch_hits.first), i, rec->ip);
}

static int is_open(const struct perf_user *user)
{
	(void)user;
	return any_open();
}

static const struct perf_user perf_user = {FIRST_KIND, WATCH_MAX, apply, wanted,
					   is_open,    forget,	  record};

int watch_set(uint32_t i, const struct watch *w)
{
	int ask;

	rows[i] = *w;
	if (!is_on)
		return 0;
	ask = sched_perf_ask();
	if (ask < 0)
		rows[i].type = 0;
	return ask > 0 ? apply_row(i) : ask;
}

static int want(struct source *s, int on)
{
	int ask = sched_perf_ask(), err = 0;
	uint32_t i;

	(void)s;
	if (ask < 0 && on)
		return ask;
	is_on = on;
	for (i = 0; ask > 0 && i < WATCH_MAX && !err; i++)
		err = apply_row(i);
	if (err) {
		is_on = 0;
		apply(&perf_user);
	}
	return err;
}

struct source watch_hits = {.want = want};

static void start(const struct lifecycle_start *how)
{
	(void)how;
	sched_perf_add(&perf_user);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
