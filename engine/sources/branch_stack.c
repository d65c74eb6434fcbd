/* SPDX-License-Identifier: MIT */
/*
 * See branch_stack.h. It is one kind of perf's records (process/perf.h). The facts about the
 * processor come from sysfs: in a sandbox, a trial perf_event_open() may end the process. If the
 * processor has only Intel's branch trace store, each branch is a sample, and the kernel fills it
 * from that store; the sample's address is the branch's target. Intel PT is not read. fork: the
 * child's agent opens its own. Tests: tests/unit/test_perf_sample.c,
 * tests/engine/tracers/hw-branch.
 */
#include "engine/sources/branch_stack.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/process/perf_sample.h"
#include "engine/sources/perf_group.h"
#include "engine/sources/power.h"
#include "engine/sources/sched_perf.h"
#include "engine/sources/watch.h"

#define KIND (SCHED_TASKS + 1u + WATCH_MAX + NR_POWER_KINDS)

_Static_assert(KIND < PERF_MAX_KINDS, "perf.h has no room for so high a kind");

enum way { NONE, STACKS, TRACE_STORE };

static enum way way;

/*
 * Find out, once, which way this machine has. The first two files exist if the processor has branch
 * stacks: with one kind of core, and for the big cores of two kinds.
 */
static void find_way(void)
{
	static int known;
	static const struct {
		const char *name;
		enum way way;
	} files[] = {{"/sys/bus/event_source/devices/cpu/caps/branches", STACKS},
		     {"/sys/bus/event_source/devices/cpu_core/caps/branches", STACKS},
		     {"/sys/bus/event_source/devices/intel_bts/type", TRACE_STORE}};
	uint32_t i;
	int fd;

	for (i = 0; !known && i < ARRAY_SIZE(files); i++) {
		fd = sys_open(files[i].name, O_RDONLY | O_CLOEXEC, 0);
		if (fd < 0)
			continue;
		sys_close(fd);
		way = files[i].way;
		break;
	}
	known = 1;
}

static int open_branches(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
				       .sample_period = BRANCH_STACK_PERIOD,
				       .sample_type = PERF_SAMPLE_BRANCH_STACK,
				       .branch_sample_type =
					       PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};

	find_way();
	if (way == TRACE_STORE) {
		attr.sample_period = 1;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
		attr.branch_sample_type = 0;
	}
	return perf_open(KIND, &attr);
}

static void report(uint64_t from, uint64_t to)
{
	SOURCE_NOTIFY(struct branch_stack_listener, load_acquire(&branch_stacks.first), from, to);
}

static void record(const struct perf_record *rec)
{
	uint64_t from, to;
	uint32_t i;

	if (way == TRACE_STORE)
		report(rec->ip, rec->addr);
	for (i = rec->nr_branches; i-- > 0;) {
		perf_sample_branch(rec, i, &from, &to);
		report(from, to);
	}
}

static struct perf_group group = {
	.user = {.first = KIND, .nr = 1, .record = record},
	.open = open_branches,
	.refused = "perf gives no branches of this processor",
};

static int want(struct source *s, int on)
{
	(void)s;
	return perf_group_want(&group, on);
}

struct source branch_stacks = {.want = want};

const char *branch_stack_refused(void)
{
	const char *why = sched_perf_no_switches();

	if (why)
		return why;
	find_way();
	return way ? NULL : "perf has no branch stacks of this processor";
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	perf_group_add(&group);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
