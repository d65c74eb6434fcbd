/* SPDX-License-Identifier: MIT */
/* Pairs of clocks to straight lines: see clock.h. Tests: tests/unit/reader/test_clock.c. */
#include "tools/area/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/machine.h"
#include "tools/base/time_ns.h"

#define MIN_STRETCH_NS UINT64_C(20000000)
#define NS_PER_S       UINT64_C(1000000000)

static int by_stamp(const void *a, const void *b)
{
	const struct area_clock *x = a, *y = b;

	if (x->stamp != y->stamp)
		return x->stamp < y->stamp ? -1 : 1;
	return x->mono_ns < y->mono_ns ? -1 : x->mono_ns > y->mono_ns;
}

/* Keep the usable pairs, in place; see the head of clock.h. */
static size_t thin(struct area_clock *pairs, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct area_clock *p = &pairs[i];
		struct area_clock *last = kept ? &pairs[kept - 1] : NULL;

		if (!p->mono_ns)
			continue;
		if (last && (p->stamp <= last->stamp || p->mono_ns <= last->mono_ns))
			continue;
		/* With two pairs only, a short stretch is better than none. */
		if (last && p->mono_ns - last->mono_ns < MIN_STRETCH_NS &&
		    (kept > 1 || i + 1 < nr)) {
			if (p->bracket < last->bracket)
				*last = *p;
			continue;
		}
		pairs[kept++] = *p;
	}
	return kept;
}

static struct clock_line line_between(const struct area_clock *a, const struct area_clock *b)
{
	struct clock_line l = {.stamp = a->stamp, .ns = a->mono_ns, .end = b->stamp};
	uint64_t stamps = b->stamp - a->stamp, ns = b->mono_ns - a->mono_ns;

	for (l.shift = 63; l.shift > 0; l.shift--) {
		unsigned __int128 mult = ((unsigned __int128)ns << l.shift) / stamps;

		if (mult <= UINT64_MAX) {
			l.mult = (uint64_t)mult;
			return l;
		}
	}
	l.mult = ns / stamps;
	return l;
}

/*
 * The pairs in order, each once: a converted recording has the pairs of its areas twice. The caller
 * keeps the original ones, for writing a native form. NULL: no memory.
 */
static struct area_clock *copy_once(const struct area_clock *pairs, size_t *nr)
{
	struct area_clock *once = malloc((*nr + 1) * sizeof(*once));
	size_t kept = 0;

	for (size_t i = 0; once && i < *nr; i++)
		if (!kept || by_stamp(&once[kept - 1], &pairs[i]))
			once[kept++] = pairs[i];
	*nr = kept;
	return once;
}

static int make_lines(struct clock *c, struct area_clock *pairs, size_t nr)
{
	nr = thin(pairs, nr);
	if (nr && pairs[nr - 1].real_ns > pairs[nr - 1].mono_ns)
		c->realtime_offset_ns = pairs[nr - 1].real_ns - pairs[nr - 1].mono_ns;
	if (nr < 2) {
		c->identity = true;
		return 0;
	}
	c->lines = calloc(nr - 1, sizeof(*c->lines));
	if (!c->lines)
		return fail(ENOMEM, "out of memory for %zu clock pairs", nr);
	c->nr_lines = nr - 1;
	for (size_t i = 0; i + 1 < nr; i++)
		c->lines[i] = line_between(&pairs[i], &pairs[i + 1]);
	c->lines[nr - 2].end = UINT64_MAX;
	return 0;
}

int clock_make(struct clock *c, struct area_clock *pairs, size_t nr)
{
	struct area_clock *once;
	int ret;

	memset(c, 0, sizeof(*c));
	if (nr)
		qsort(pairs, nr, sizeof(*pairs), by_stamp);
	once = copy_once(pairs, &nr);
	ret = once ? make_lines(c, once, nr) : fail(ENOMEM, "out of memory for clock pairs");
	free(once);
	return ret;
}

/* Each line begins at a unit, so only parts of a unit are lost. */
void clock_divide(struct clock *c, uint32_t ns)
{
	for (size_t i = 0; i < c->nr_lines; i++) {
		struct clock_line *l = &c->lines[i];
		unsigned __int128 part = (unsigned __int128)(l->ns % ns) << l->shift;
		uint64_t back = l->mult ? (uint64_t)(part / l->mult) : 0;

		l->stamp -= back < l->stamp ? back : l->stamp;
		l->ns /= ns;
		l->mult /= ns;
	}
}

void clock_free(struct clock *c)
{
	free(c->lines);
	memset(c, 0, sizeof(*c));
}

const struct clock_line *clock_line_find(const struct clock *c, uint64_t stamp)
{
	if (!c->nr_lines)
		return NULL;
	/* the first one holds for all times before it, too */
	return &c->lines[LOWER_BOUND(i, 1, c->nr_lines, c->lines[i].stamp <= stamp) - 1];
}

bool clock_sample(struct area_clock *pair, unsigned int best_of)
{
	if (!machine_has_counter())
		return false;
	pair->bracket = UINT64_MAX;
	for (unsigned int i = 0; i < best_of || !i; i++) {
		uint64_t before = machine_counter();
		uint64_t mono = time_ns(CLOCK_MONOTONIC);
		uint64_t after = machine_counter();

		if (after - before >= pair->bracket)
			continue;
		pair->bracket = after - before;
		pair->stamp = before + (after - before) / 2;
		pair->mono_ns = mono;
	}
	pair->real_ns = pair->mono_ns + (time_ns(CLOCK_REALTIME) - time_ns(CLOCK_MONOTONIC));
	return true;
}

bool clock_sample_of(uint64_t who, uint64_t what, struct area_clock *pair, unsigned int best_of)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct {
		uint64_t who, what;
		struct area_clock pair;
	} last[256];
	struct area_clock now;
	size_t i = who % (sizeof(last) / sizeof(*last));
	bool some = true;

	pthread_mutex_lock(&lock);
	if (last[i].pair.stamp && last[i].who == who && last[i].what == what) {
		*pair = last[i].pair;
	} else {
		some = clock_sample(&now, best_of);
		if (some) {
			last[i].who = who;
			last[i].what = what;
			*pair = last[i].pair = now;
		}
	}
	pthread_mutex_unlock(&lock);
	return some;
}

bool clock_sample_fits(const struct area_clock *old, const struct area_clock *now)
{
	int64_t old_offset = (int64_t)(old->real_ns - old->mono_ns);
	int64_t new_offset = (int64_t)(now->real_ns - now->mono_ns);
	int64_t moved = (int64_t)((uint64_t)new_offset - (uint64_t)old_offset);
	uint64_t stamps, ns;

	if (now->stamp <= old->stamp || now->mono_ns <= old->mono_ns)
		return false;
	/* The wall clock is stepped rarely and little, another boot differs by its uptime. */
	if (moved > (int64_t)(10 * NS_PER_S) || moved < -(int64_t)(10 * NS_PER_S))
		return false;
	stamps = now->stamp - old->stamp;
	ns = now->mono_ns - old->mono_ns;
	/* 0.1 to 20 units a nanosecond */
	return stamps / 20 <= ns && ns / 10 <= stamps;
}
