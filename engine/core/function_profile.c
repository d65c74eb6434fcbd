/* SPDX-License-Identifier: MIT */
/*
 * See function_profile.h. One table, a row for each CPU and function, in memory of the process
 * alone; functions of objects that are loaded while it is on have rows as far as the spare ones go.
 * Rows are incremented atomically, since a thread may migrate between reading the CPU's number and
 * the addition. Each CPU has its own rows, so there is no contention. Hits count at entry, times at
 * return: a call that is open, or vanished, or was entered by a tail call, has no time.
 *
 * The table goes only when no thread is between ring_enter() and _leave(), in which both are
 * called. fork: off in the child (ops_fork()). Tests: tests/engine/fire/function_profile.
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

#define SPARE_FUNCTIONS 16384u

static struct function_profile *table; /* by CPU, then function */
static uint32_t nr_functions;	       /* rows a CPU */
static uint64_t ns_per_unit;	       /* << 32 */
static struct call_ops profile_ops = {
	.kind = OPS_PROFILE,
	.how = OPS_C | OPS_GRAPH,
	.filter = &global_trace.filter,
	.notrace = &global_trace.notrace,
};

static size_t table_bytes(void)
{
	return (size_t)nr_functions * area->nr_cpus * sizeof(*table);
}

int function_profile_is_on(void)
{
	return profile_ops.is_on;
}

static int make_table(void)
{
	if (table)
		sys_munmap(table, table_bytes());
	table = NULL;
	nr_functions = function_count() + SPARE_FUNCTIONS;
	table = sys_map_table(table_bytes());
	if (!table) {
		nr_functions = 0;
		return -ENOMEM;
	}
	ns_per_unit = clock_unit_ns();
	return 0;
}

int function_profile_set(int on)
{
	int err;

	if (on == profile_ops.is_on)
		return 0;
	if (!on)
		return ftrace_unregister(&profile_ops);
	err = make_table();
	return err ? err : ftrace_register(&profile_ops);
}

static struct function_profile *row_of(uint32_t cpu, uint32_t id)
{
	if (!table || id >= nr_functions || cpu >= area->nr_cpus)
		return NULL;
	return &table[(size_t)cpu * nr_functions + id];
}

void function_profile_enter(uint32_t id)
{
	struct function_profile *row = row_of(arch_cpu(), id);

	if (row)
		fetch_add(&row->hits, 1);
}

void function_profile_exit(uint32_t id, uint64_t took)
{
	struct function_profile *row = row_of(arch_cpu(), id);
	uint64_t ns = (uint64_t)((unsigned __int128)took * ns_per_unit >> 32);

	if (!row)
		return;
	fetch_add(&row->time_ns, ns);
	fetch_add(&row->squares, ns * ns);
}

struct function_profile function_profile_get(uint32_t cpu, uint32_t id)
{
	const struct function_profile *row = row_of(cpu, id);

	return row ? *row : (struct function_profile){0};
}
