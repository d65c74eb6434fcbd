/* SPDX-License-Identifier: MIT */
/* See perf_clock.h. fork: the child reads the clocks again. Tests: tests/engine/events/switches. */
#include "engine/sources/perf_clock.h"

#include "arch_clock.h"
#include "engine/process/area.h"
#include "engine/ring/ring.h"

/* The same time on both clocks: the last read, and one a second or two before. */
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

void perf_clock_look(void)
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

uint64_t perf_clock_now(void)
{
	return now.mono;
}

uint64_t perf_clock_stamp(uint64_t ns)
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
