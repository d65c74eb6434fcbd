/* SPDX-License-Identifier: MIT */
/*
 * See power.h. The tracepoints are opened for whole CPUs; records of CPUs that are not ours are
 * dropped here. A CPU is ours once a thread of the process has run on it: the kernel's
 * sched_switch, whose records come through the same rings in order of time, shows that. At the
 * start /proc says where each thread ran last. If the kernel lacks cpu_frequency or cpu_idle_miss,
 * the tracer goes on without it. fork: the child's agent opens its own, and begins with the CPU of
 * the child's thread alone.
 * Tests: tests/engine/tracers/power, tests/unit/test_power.c.
 */
#include "engine/sources/power.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/perf.h"
#include "engine/process/thread_list.h"
#include "engine/ring/proxy.h"
#include "engine/sources/kernel_event.h"
#include "engine/sources/perf_group.h"
#include "engine/sources/watch.h"

#define FIRST_KIND     (SCHED_TASKS + 1u + WATCH_MAX)
#define MAX_CPUS       8192u
#define MAX_STAT_BYTES 1024u

_Static_assert(FIRST_KIND + NR_POWER_KINDS <= PERF_MAX_KINDS,
	       "perf.h has no room for so high a kind");

struct power_record {
	struct builtin_record head;
	uint32_t state;
	uint32_t cpu_id;
	uint8_t below;
};

static const struct vestige_event_field plain_fields[] = {
	BUILTIN_FIELD(struct power_record, state, "u32", 0),
	BUILTIN_FIELD(struct power_record, cpu_id, "u32", 0),
	BUILTIN_FIELDS_END,
};
static const struct vestige_event_field miss_fields[] = {
	BUILTIN_FIELD(struct power_record, state, "u32", 0),
	BUILTIN_FIELD(struct power_record, cpu_id, "u32", 0),
	BUILTIN_FIELD(struct power_record, below, "bool", 0),
	BUILTIN_FIELDS_END,
};

static const struct kernel_tracepoint tracepoints[NR_POWER_KINDS] = {
	[POWER_IDLE] = {"power", "cpu_idle", plain_fields},
	[POWER_FREQUENCY] = {"power", "cpu_frequency", plain_fields},
	[POWER_MISS] = {"power", "cpu_idle_miss", miss_fields},
};

static struct kernel_event_places places[NR_POWER_KINDS];
static uint64_t ours[MAX_CPUS / 64]; /* a bit for each CPU that is ours */

static void see_cpu(uint32_t cpu)
{
	if (cpu < MAX_CPUS)
		bitmap_set(ours, cpu);
}

static void on_switch(const struct sched_call *c)
{
	see_cpu(c->as->cpu);
}

static struct sched_listener switches = {.call = on_switch};

/* The CPU on which the thread ran last. */
static int see_thread(int tid, void *data)
{
	char text[MAX_STAT_BYTES];
	uint64_t cpu = MAX_CPUS;
	const char *at;

	(void)data;
	if (tid == sys_gettid()) /* the agent */
		return 0;
	if (thread_list_read(tid, "stat", text, sizeof(text)) <= 0)
		return 0;
	at = thread_list_stat(text, STAT_CPU);
	if (*at)
		text_decimal(at, strlen(at), &cpu);
	if (cpu < MAX_CPUS)
		see_cpu((uint32_t)cpu);
	return 0;
}

static int open_all(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .sample_type = PERF_SAMPLE_RAW, .sample_period = 1};
	uint32_t i;
	int err = 0;

	memset(ours, 0, sizeof(ours));
	for (i = 0; i < NR_POWER_KINDS && !err; i++) {
		attr.config = kernel_event_find(&tracepoints[i], &places[i]);
		if (attr.config)
			err = perf_open_cpus(FIRST_KIND + i, &attr, NULL);
		else if (i == POWER_IDLE)
			err = -ENOENT;
	}
	if (!err) {
		thread_list_each(see_thread, NULL);
		return 0;
	}
	for (i = 0; i < NR_POWER_KINDS; i++)
		perf_close(FIRST_KIND + i);
	return err;
}

static void record(const struct perf_record *rec)
{
	uint64_t words[(sizeof(struct power_record) + 7) / 8] = {0};
	const struct power_record *r = (const struct power_record *)words;
	uint32_t kind = rec->kind - FIRST_KIND;
	struct power p;

	if (!kernel_event_convert(&tracepoints[kind], &places[kind], rec->raw, rec->raw_bytes,
				  (uint8_t *)words))
		return;
	if (r->cpu_id >= MAX_CPUS || !bitmap_has(ours, r->cpu_id))
		return;
	p = (struct power){.kind = kind, .cpu = r->cpu_id, .state = r->state, .below = r->below};
	SOURCE_NOTIFY(struct power_listener, load_acquire(&powers.first), &p);
}

static struct perf_group group = {
	.user = {.first = FIRST_KIND, .nr = NR_POWER_KINDS, .record = record},
	.open = open_all,
	.refused = "the kernel refuses this process events of its CPUs' power",
};

/* Switches show which CPUs are ours, so the source needs them, too. */
static int want(struct source *s, int on)
{
	int err = perf_group_want(&group, on);

	(void)s;
	if (on && err)
		return err;
	if (on)
		err = source_listen(&sched_sources[SCHED_SWITCH], &switches.link);
	else
		source_ignore(&sched_sources[SCHED_SWITCH], &switches.link);
	if (on && err)
		perf_group_want(&group, 0);
	return err;
}

struct source powers = {.want = want};

static void start(const struct lifecycle_start *how)
{
	(void)how;
	perf_group_add(&group);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
