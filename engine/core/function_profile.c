/* SPDX-License-Identifier: MIT */
/*
 * See function_profile.h. The rows are in the area, one for each function and CPU on which it was
 * called; `rows`, in memory of the process alone, has their numbers. Functions of objects that are
 * loaded while the profiler is on get rows as long as there are spare ones.
 *
 * Hits and times are added atomically, since a thread may migrate between reading the CPU's number
 * and the addition. The other values are added by one instruction without a LOCK prefix: an
 * addition is lost if a thread migrates exactly there and a thread on its old CPU adds to the same
 * word at that time. Each CPU has its own rows, so there is no contention. Hits count at the entry,
 * times at the return: a call that is open, was unwound, or was entered by a tail call, has no
 * time. Self times are added at each entry and return on a stack, so an open call has its self time
 * so far.
 *
 * Memory: 256 bytes for each function and CPU, and 256 for each octave of its times; at most 48 MiB
 * of the area. Without memory, calls are counted in profile_missed or no_times, and nothing else is
 * lost. Costs: bench "profiler". All functions run between ring_enter() and ring_leave(), and the
 * ops is removed only when no thread is in there. fork: off in the child (ops_fork()), whose area
 * has no rows. Tests: tests/engine/fire/function_profile, tests/cli/test_top.py.
 */
#include "engine/core/function_profile.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring.h"

#define SPARE_FUNCTIONS 16384u
#define STEP		1024u /* rows that get memory in one step */

uint64_t function_profile_since;

static uint32_t *rows; /* by CPU, then function: number of a row of AREA_PROFILE, from 1; 0: none */
static uint32_t nr_functions;	      /* functions for each CPU in `rows` */
static uint32_t next_row, next_times; /* the first rows that are not in use */
static struct area_profile *profiles; /* AREA_PROFILE at the time of the switch */
static struct area_times *times;      /* AREA_TIMES */
static uint32_t nr_cpus;
static uint64_t ns_per_unit; /* << 32 */
static struct call_ops profile_ops = {
	.kind = OPS_PROFILE,
	.how = OPS_C | OPS_GRAPH,
	.filter = &global_trace.filter,
	.notrace = &global_trace.notrace,
};

static size_t rows_bytes(void)
{
	return (size_t)nr_functions * area->nr_cpus * sizeof(*rows);
}

int function_profile_is_on(void)
{
	return profile_ops.is_on;
}

/* Back STEP more rows behind the first @count. Any context. Return: 0 or -errno. */
static int profile_back(enum area_table_id id, uint32_t count)
{
	struct area_table *t = AREA_TABLE(area, id);
	uint32_t to = count + STEP < t->capacity ? count + STEP : t->capacity;
	int err;

	if (to <= count || sys_is_forbidden())
		return -ENOSPC;
	err = area_reserve(id, to);
	if (!err)
		store_greater(&t->count, to);
	return err;
}

/* Take a row that is not in use. Any context. Return: its number from 1; 0: there is none. */
static uint32_t profile_take(enum area_table_id id, uint32_t *next)
{
	for (;;) {
		uint32_t at = load_relaxed(next),
			 count = load_acquire(&AREA_TABLE(area, id)->count);

		if (at >= count && profile_back(id, count))
			return 0;
		if (compare_and_store(next, at, at + 1))
			return at + 1;
	}
}

static struct area_profile *profile_at(uint32_t nr)
{
	return &profiles[nr - 1];
}

static struct area_times *times_at(uint32_t nr)
{
	return &times[nr - 1];
}

/* Rows that exist already count from zero and keep their functions. */
static void begin_anew(void)
{
	uint32_t i;

	for (i = 1; i <= next_times; i++)
		memset(times_at(i), 0, sizeof(struct area_times));
	for (i = 1; i <= next_row; i++) {
		struct area_profile *p = profile_at(i);

		if (p->kind && p->function < nr_functions && p->cpu < area->nr_cpus)
			rows[(size_t)p->cpu * nr_functions + p->function] = i;
		p->no_times = 0;
		p->hits = p->time_ns = p->squares = p->self_ns = p->max_ns = 0;
	}
}

static int make_rows(void)
{
	int err;

	if (rows)
		sys_munmap(rows, rows_bytes());
	nr_functions = function_count() + SPARE_FUNCTIONS;
	rows = sys_map_table(rows_bytes());
	if (!rows) {
		nr_functions = 0;
		return -ENOMEM;
	}
	profiles = area_entry(AREA_PROFILE, 0);
	times = area_entry(AREA_TIMES, 0);
	nr_cpus = area->nr_cpus;
	if (!AREA_TABLE(area, AREA_PROFILE)->count) { /* also in a child's new area */
		next_row = next_times = 0;
		err = profile_back(AREA_PROFILE, 0);
		if (!err && !AREA_TABLE(area, AREA_TIMES)->count)
			err = profile_back(AREA_TIMES, 0);
		if (err)
			return err;
	}
	begin_anew();
	ns_per_unit = clock_unit_ns();
	area->profile_missed = 0;
	function_profile_since = ring_clock();
	store_relaxed(&area->profile_since, function_profile_since);
	return 0;
}

int function_profile_set(int on)
{
	int err;

	if (on == profile_ops.is_on)
		return 0;
	if (!on) {
		err = ftrace_unregister(&profile_ops);
	} else {
		err = make_rows();
		if (!err)
			err = ftrace_register(&profile_ops);
	}
	store_relaxed(&area->profile_on, (uint32_t)profile_ops.is_on);
	return err;
}

/* Return: the place of the row's number; NULL: there is none, and none can be made. */
static uint32_t *place_of(uint32_t cpu, uint32_t id)
{
	if (unlikely(!rows || id >= nr_functions || cpu >= nr_cpus))
		return NULL;
	return &rows[(size_t)cpu * nr_functions + id];
}

static __attribute__((noinline)) struct area_profile *profile_row(uint32_t *place, uint32_t cpu,
								  uint32_t id)
{
	uint32_t nr = place ? profile_take(AREA_PROFILE, &next_row) : 0;
	struct area_profile *p;

	if (!nr)
		return NULL;
	p = profile_at(nr);
	p->function = id;
	p->cpu = cpu;
	store_release(&p->kind, AREA_PROFILE_ROW);
	/* another thread was faster: both rows are good, and readers add them up */
	if (!compare_and_store(place, 0, nr))
		p = profile_at(load_acquire(place));
	return p;
}

static inline struct area_profile *row_of(uint32_t id)
{
	uint32_t cpu = arch_cpu(), *place = place_of(cpu, id), nr = place ? load_acquire(place) : 0;

	return likely(nr) ? profile_at(nr) : profile_row(place, cpu, id);
}

void function_profile_enter(uint32_t id)
{
	struct area_profile *row = row_of(id);

	fetch_add(row ? &row->hits : &area->profile_missed, 1);
}

static inline uint64_t ns_of(uint64_t units)
{
	return (uint64_t)((unsigned __int128)units * ns_per_unit >> 32);
}

static __attribute__((noinline)) uint32_t profile_times(uint32_t *place)
{
	uint32_t nr = profile_take(AREA_TIMES, &next_times);

	if (!nr || compare_and_store(place, 0, nr))
		return nr;
	return load_acquire(place);
}

static inline void count_time(struct area_profile *row, uint64_t ns)
{
	uint32_t octave = 0, nr;
	uint64_t bucket = ns;

	if (ns >= AREA_TIMES_BUCKETS) {
		octave = 63u - (uint32_t)__builtin_clzll(ns) - 4u;
		bucket = ns >> (octave - 1) & (AREA_TIMES_BUCKETS - 1);
		if (unlikely(octave >= AREA_TIMES_OCTAVES)) {
			octave = AREA_TIMES_OCTAVES - 1;
			bucket = AREA_TIMES_BUCKETS - 1;
		}
	}
	nr = load_acquire(&row->times[octave]);
	if (unlikely(!nr))
		nr = profile_times(&row->times[octave]);
	if (likely(nr))
		arch_local_fetch_add(&times_at(nr)->nr[bucket], 1);
	else
		fetch_add(&row->no_times, 1);
}

void function_profile_self(uint32_t id, uint64_t self)
{
	struct area_profile *row = row_of(id);

	if (row)
		arch_local_fetch_add(&row->self_ns, ns_of(self));
}

void function_profile_exit(uint32_t id, uint64_t took, uint64_t self)
{
	struct area_profile *row = row_of(id);
	uint64_t ns = ns_of(took);

	if (!row)
		return;
	fetch_add(&row->time_ns, ns);
	arch_local_fetch_add(&row->squares, ns * ns);
	arch_local_fetch_add(&row->self_ns, ns_of(self));
	if (unlikely(ns > load_relaxed(&row->max_ns)))
		store_greater(&row->max_ns, ns);
	count_time(row, ns);
}

struct function_profile function_profile_get(uint32_t cpu, uint32_t id)
{
	const uint32_t *place = place_of(cpu, id);
	const struct area_profile *row;

	/* a child has no rows yet where its parent had them */
	if (!place || !*place || *place > AREA_TABLE(area, AREA_PROFILE)->count)
		return (struct function_profile){0};
	row = profile_at(*place);
	return (struct function_profile){row->hits, row->time_ns, row->squares};
}
