/* SPDX-License-Identifier: MIT */
/*
 * Which clock is used, and how its units relate to CLOCK_MONOTONIC: by pairs of both, taken at the
 * start and at exit (the recorder takes more), between which readers interpolate. A pair is {stamp,
 * mono, stamp} with the smallest bracket of many tries, so a preemption between the reads does not
 * count. Nothing for fork. Tests: tests/unit/reader/test_clock.c.
 */
#include "engine/process/clock.h"

#include <time.h>

#include "arch_clock.h"
#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/elf_dynamic.h"
#include "engine/ring/ring.h"

#define TRIES	 200
#define NO_GAIN	 32 /* tries without a closer pair after which there is no more */
#define NS_SHIFT 20 /* a unit's length is computed over 2^NS_SHIFT ns */

static int makes_calls;

enum area_clock_id clock_choose(void)
{
	static const char path[] =
		"/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char text[32] = "";
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	sys_use_clock((int (*)(clockid_t, struct timespec *))dynamic_vdso(ARCH_VDSO_CLOCK));
	/* without /sys: rely on what the processor reports */
	if (fd < 0)
		return arch_clock_invariant() ? AREA_CLOCK_TSC : AREA_CLOCK_MONO;
	n = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	/* the kernel uses the counter only while its rate is constant: CPUID need not be asked */
	if (n > 0 && str_starts(text, ARCH_CLOCKSOURCE "\n"))
		return AREA_CLOCK_TSC;
	makes_calls = n > 0 && !str_starts(text, ARCH_CLOCKSOURCE) &&
		      !str_starts(text, "kvm-clock") && !str_starts(text, "hyperv_clocksource_tsc");
	return AREA_CLOCK_MONO;
}

int clock_makes_calls(void)
{
	return makes_calls;
}

uint64_t clock_from_ns(uint64_t ns)
{
	const struct area_table *t = &area->tables[AREA_CLOCKS];
	const struct area_clock *first, *last;
	uint64_t begin = ring_clock_mono();

	if (!ns || area->clock == AREA_CLOCK_MONO)
		return ns;
	first = area_entry(AREA_CLOCKS, 0);
	while (ring_clock_mono() - first->mono_ns < 1000000 && ring_clock_mono() - begin < 1000000)
		;
	clock_add_pair();
	last = area_entry(AREA_CLOCKS, t->count - 1);
	if (last == first || last->mono_ns <= first->mono_ns)
		return ns;
	return (uint64_t)((unsigned __int128)ns * (last->stamp - first->stamp) /
			  (last->mono_ns - first->mono_ns));
}

uint64_t clock_unit_ns(void)
{
	uint64_t units = clock_from_ns(UINT64_C(1) << NS_SHIFT);

	return (UINT64_C(1) << (NS_SHIFT + 32)) / (units ? units : 1);
}

int64_t clock_offset(int id)
{
	int64_t best = 0, bracket = INT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		int64_t before = (int64_t)ring_clock_mono(), then = (int64_t)sys_clock_ns(id);
		int64_t after = (int64_t)ring_clock_mono();

		if (after - before >= bracket)
			continue;
		bracket = after - before;
		best = then - before - bracket / 2;
	}
	return best;
}

void clock_add_pair(void)
{
	struct area_table *t = &area->tables[AREA_CLOCKS];
	struct area_clock best = {.bracket = UINT64_MAX}, *row;
	int i, last = 0;

	for (i = 0; i < TRIES && i - last <= NO_GAIN; i++) {
		uint64_t before = arch_clock_read_ordered();
		uint64_t mono = ring_clock_mono();
		uint64_t after = arch_clock_read_ordered();

		if (after - before >= best.bracket)
			continue;
		best = (struct area_clock){before + (after - before) / 2, mono, 0, after - before};
		last = i;
	}
	best.real_ns = sys_clock_ns(CLOCK_REALTIME) - (ring_clock_mono() - best.mono_ns);
	if (area->clock == AREA_CLOCK_MONO)
		best.stamp = best.mono_ns;
	if (area_reserve(AREA_CLOCKS, t->count + 1))
		return;
	row = area_entry(AREA_CLOCKS, t->count);
	*row = best;
	__atomic_store_n(&t->count, t->count + 1, __ATOMIC_RELEASE);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	clock_add_pair();
}

static void fork_clock(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_TAKE)
		clock_add_pair();
}

LIFECYCLE(LIFECYCLE_PROCESS, start, fork_clock, clock_add_pair);
