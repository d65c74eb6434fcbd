/* SPDX-License-Identifier: MIT */
/*
 * See branch_stack.h. One kind of perf's (process/perf.h). Whether the processor has the stacks is
 * looked up in sysfs: a try of perf_event_open() may end a process in a sandbox. Intel PT and BTS are
 * not read. fork: the child's agent opens its own. Tests: tests/unit/test_perf_sample.c,
 * tests/engine/tracers/hw-branch.
 */
#include "engine/sources/branch_stack.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/process/area.h"
#include "engine/process/perf_sample.h"
#include "engine/ring/proxy.h"
#include "engine/sources/power.h"
#include "engine/sources/sched_perf.h"
#include "engine/sources/watch.h"

#define KIND (SCHED_TASKS + 1u + WATCH_MAX + NR_POWER_KINDS)

_Static_assert(KIND < PERF_MAX_KINDS, "perf.h tells kinds apart by numbers");

static int is_wanted;
static int is_opened;

/* The agent. */
static int apply_now(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
				       .sample_period = BRANCH_STACK_PERIOD,
				       .sample_type = PERF_SAMPLE_BRANCH_STACK,
				       .branch_sample_type =
					       PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int err = 0;

	if (is_wanted == is_opened)
		return 0;
	if (is_wanted) {
		err = perf_open(KIND, &attr);
	} else {
		sched_perf_drain();
		perf_close(KIND);
		ring_proxy_flush();
	}
	if (!err)
		is_opened = is_wanted;
	return err;
}

static void apply(void)
{
	int err = apply_now();

	if (!err)
		return;
	is_wanted = 0;
	area_status("perf gives no branches of this processor", NULL, err);
}

static int wanted(void)
{
	return is_wanted;
}

static int is_open(void)
{
	return is_opened;
}

static void forget(void)
{
	is_opened = 0;
}

static void record(const struct perf_record *rec)
{
	uint64_t from, to;
	uint32_t i;

	for (i = rec->nr_branches; i-- > 0;) {
		perf_sample_branch(rec, i, &from, &to);
		SOURCE_TELL(struct branch_stack_listener, load_acquire(&branch_stacks.first), from,
			    to);
	}
}

static const struct perf_user user = {KIND, 1, apply, wanted, is_open, forget, record};

static int want(struct source *s, int on)
{
	int ask = sched_perf_ask(), err;

	(void)s;
	if (on && ask < 0)
		return ask;
	is_wanted = on;
	err = ask > 0 ? apply_now() : 0;
	if (err)
		is_wanted = 0;
	return err;
}

struct source branch_stacks = {.want = want};

/* How deep the stacks are: of a processor of one kind of core, or of its big ones. */
static int is_there(void)
{
	static const char *const names[] = {"/sys/bus/event_source/devices/cpu/caps/branches",
					    "/sys/bus/event_source/devices/cpu_core/caps/branches"};
	uint32_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		fd = sys_open(names[i], O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			continue;
		sys_close(fd);
		return 1;
	}
	return 0;
}

const char *branch_stack_refused(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	return is_there() ? NULL : "perf has no branch stacks of this processor";
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	sched_perf_add(&user);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
