/* SPDX-License-Identifier: MIT */
/*
 * See function_profile.h. One table, a row for each CPU and function, in memory of the process alone;
 * functions of objects that are loaded while it is on have rows as far as the spare ones go. Rows are
 * added to with atomic instructions, since a thread may move between the CPU's number and the addition;
 * they are a CPU's own, so nobody waits. Hits count at entry, times at return: a call that is open, or
 * vanished, or was entered by a tail call, has no time.
 *
 * The table goes only when no thread is between ring_enter() and _leave(), in which both are called.
 * fork: off in the child. Tests: tests/engine/fire/function_profile.
 */
#include "engine/core/function_profile.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/clock.h"
#include "engine/core/trace_array.h"

#define SPARE_FUNCTIONS 16384u

static struct function_profile *table; /* by CPU, then function */
static uint32_t nr_functions;	       /* rows a CPU */
static uint64_t ns_per_unit;	       /* << 32 */
static int is_on;

static size_t table_bytes(void)
{
	return (size_t)nr_functions * area->nr_cpus * sizeof(*table);
}

int function_profile_is_on(void)
{
	return is_on;
}

int function_profile_wants(uint32_t id)
{
	const struct trace_array *tr = &global_trace;

	return is_on && id < nr_functions && !function_set_has(&tr->notrace, id) &&
	       (!tr->filter.count || function_set_has(&tr->filter, id));
}

static int make_table(void)
{
	long p;

	if (table)
		sys_munmap(table, table_bytes());
	table = NULL;
	nr_functions = function_count() + SPARE_FUNCTIONS;
	p = sys_mmap(NULL, table_bytes(), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p)) {
		nr_functions = 0;
		return -ENOMEM;
	}
	table = (struct function_profile *)p;
	ns_per_unit = clock_unit_ns();
	return 0;
}

int function_profile_set(int on)
{
	int err = 0;

	if (on == is_on)
		return 0;
	if (on)
		err = make_table();
	if (err)
		return err;
	is_on = on;
	err = ftrace_update();
	if (err && on) {
		is_on = 0;
		ftrace_update();
	}
	return err;
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

void function_profile_fork(void)
{
	is_on = 0;
}
