/* SPDX-License-Identifier: MIT */
/*
 * The hook of programs built with -finstrument-functions. Each function calls
 * __cyg_profile_func_enter() and, before it returns, __cyg_profile_func_exit(). The engine has both
 * (cyg_entry.S), unless the program defines its own. The scan finds these functions by that call in
 * them (patchable.c). An inlined function passes the address of the copy that the compiler keeps
 * for this purpose. A record's function is found in a table with the address as key, whose rows are
 * rewritten when the filters change.
 *
 * The table only grows. A larger table replaces a smaller one, which is not freed, since a thread
 * may be reading it; together they are as large as the last. Rows of unloaded objects stay, too,
 * and are used again for the same address. Writers hold the tree lock or are the constructor.
 * Readers may be at any instruction: a row's word is stored before its address. fork: the child has
 * the same table. If longjmp() or, with clang, a C++ exception leaves a function, its exit function
 * is not called. Costs: bench "hooks". Tests: tests/engine/targets (cyg-*).
 */
#include "engine/hook/cyg.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/core/function.h"
#include "engine/core/hook.h"
#include "engine/process/libc.h"
#include "engine/hook/port.h"
#include "engine/hook/sites.h"
#include "engine/core/text_patch.h"

/*
 * The functions to which the exported ones jump; NULL: they return at once. cyg_entry.S reads all
 * of these.
 */
hook_entry *hook_cyg_on_enter, *hook_cyg_on_exit;
hook_entry *hook_cyg_enter, *hook_cyg_exit;	      /* the engine's functions */
hook_entry *hook_cyg_next_enter, *hook_cyg_next_exit; /* called after them */
struct cyg_table *hook_cyg_table;
hook_entry hook_cyg_chained_enter, hook_cyg_chained_exit;
hook_entry hook_cyg_ours; /* __cyg_profile_func_enter of cyg_entry.S, even if others define it */

static int ours = 1;
static uint32_t nr_rows, nr_armed;

static uint64_t row_of(uint64_t addr)
{
	return (addr * CYG_HASH >> 32) & hook_cyg_table->mask;
}

/* The row of an address, or the free row for it. */
static struct cyg_row *find_row(uint64_t addr)
{
	uint8_t *rows = (uint8_t *)hook_cyg_table->rows;
	uint64_t at = row_of(addr);

	for (;; at = (at + sizeof(struct cyg_row)) & hook_cyg_table->mask) {
		struct cyg_row *row = (struct cyg_row *)(rows + at);

		if (!row->addr || row->addr == addr)
			return row;
	}
}

/* Make room for @more rows; at most half of the rows are used. */
static int reserve(uint32_t more)
{
	const struct cyg_table *old = hook_cyg_table;
	struct cyg_table *table;
	uint64_t want = 256, i;

	if (old && (uint64_t)(nr_rows + more) * 2 * sizeof(struct cyg_row) <= old->mask)
		return 0;
	while (want < (uint64_t)(nr_rows + more) * 4)
		want *= 2;
	if (want > UINT32_MAX / sizeof(struct cyg_row))
		return -ENOSPC;
	table = sys_map_anon(sizeof(*table) + want * sizeof(struct cyg_row));
	if (!table)
		return -ENOMEM;
	table->mask = (want - 1) * sizeof(struct cyg_row);
	/* no thread writes to the old table meanwhile */
	for (i = 0; old && i <= old->mask / sizeof(struct cyg_row); i++) {
		const struct cyg_row *row = &old->rows[i];
		uint64_t at = (row->addr * CYG_HASH >> 32) & table->mask;
		uint8_t *rows = (uint8_t *)table->rows;

		if (!row->addr)
			continue;
		while (((struct cyg_row *)(rows + at))->addr)
			at = (at + sizeof(struct cyg_row)) & table->mask;
		*(struct cyg_row *)(rows + at) = *row;
	}
	store_release(&hook_cyg_table, table);
	return 0;
}

/* Call @fn for each function of the object that calls __cyg_profile_func_enter(). */
static void each_row(struct object *o, void (*fn)(struct area_function *f, uint64_t addr, int on),
		     const uint8_t *how)
{
	const struct area_object *row = object_row(o);
	uint32_t i;

	for (i = 0; o->nr_callers && i < row->nr_functions; i++) {
		struct area_function *f = area_function(row->first_function + i);

		if (f->how == AREA_BY_CYG)
			fn(f, row->bias + f->offset, how && how[i]);
	}
}

static void add_one(struct area_function *f, uint64_t addr, int on)
{
	struct cyg_row *row = find_row(addr);

	(void)f;
	(void)on;
	row->word = 0;
	if (row->addr)
		return;
	barrier();
	*(volatile uint64_t *)&row->addr = addr;
	nr_rows++;
}

static int cyg_scan(struct object *o)
{
	const struct area_object *row = object_row(o);
	uint32_t i;
	int err;

	o->nr_callers = 0;
	for (i = 0; i < row->nr_functions; i++)
		o->nr_callers += area_function(row->first_function + i)->how == AREA_BY_CYG;
	if (!o->nr_callers)
		return 0;
	err = reserve(o->nr_callers);
	if (err) {
		o->nr_callers = 0;
		return err;
	}
	each_row(o, add_one, NULL);
	return 0;
}

static void switch_one(struct area_function *f, uint64_t addr, int on)
{
	uint64_t id = (uint64_t)(f - area_function(0));
	uint64_t word = (uint64_t)RECORD_FUNCTION << RECORD_KIND_SHIFT | id << RECORD_ID_SHIFT;

	*(volatile uint64_t *)&find_row(addr)->word = on ? word : 0;
	nr_armed += (uint32_t)on - f->enabled;
	f->enabled = (uint8_t)on;
	if (on)
		f->flags |= AREA_FUNCTION_TOUCHED;
}

/* Filters of the graph need a call's depth, which is not counted for these functions. */
static int graph_is_filtered(void)
{
	return graph_function.count || graph_notrace.count || graph_max_depth || tracing_thresh_ns;
}

/* If another library's functions follow the engine's, they are always called. */
static void settle(enum record_kind kind)
{
	const struct hook_entries *e = sites_entries();
	int graph = kind == RECORD_ENTRY;
	int on = nr_armed && !(graph && graph_is_filtered());

	store_release(&hook_cyg_exit, on && graph ? e->cyg_exit : NULL);
	store_release(&hook_cyg_enter, !on ? NULL : graph ? e->cyg_entry : e->cyg_function);
	store_release(&hook_cyg_on_enter,
		      hook_cyg_next_enter ? hook_cyg_chained_enter : hook_cyg_enter);
	store_release(&hook_cyg_on_exit,
		      hook_cyg_next_exit ? hook_cyg_chained_exit : hook_cyg_exit);
}

static int cyg_arm(struct object *o, uint8_t *how, enum record_kind kind)
{
	if (!o->nr_callers)
		return 0;
	each_row(o, switch_one, how);
	settle(kind);
	return text_sync();
}

/* Called before anything is armed, and after the graph's filters have changed. */
static int cyg_prepare(enum record_kind kind)
{
	if (nr_rows && kind == RECORD_ENTRY && graph_is_filtered())
		area_status("functions of -finstrument-functions are left out of a graph that has "
			    "filters",
			    NULL, 0);
	settle(kind);
	return 0;
}

static void cyg_forget(struct object *o)
{
	if (!o->nr_callers)
		return;
	each_row(o, switch_one, NULL);
	o->nr_callers = 0;
}

static const struct hook cyg_hook = {
	.name = "instrument-functions",
	.scan = cyg_scan,
	.arm = cyg_arm,
	.prepare = cyg_prepare,
	.forget = cyg_forget,
};

static void start(const struct lifecycle_start *how)
{
	(void)how;
	hook_register(&cyg_hook);
}

int cyg_is_ours(void)
{
	return ours;
}

/* libc's functions of these names do nothing, so they do not count. */
static hook_entry *next_of(const char *name)
{
	void *next = libc_next(name);

	return next && !libc_owns(next) ? (hook_entry *)next : NULL;
}

void cyg_start(void)
{
	ours = libc_symbol("__cyg_profile_func_enter") == (void *)hook_cyg_ours;
	hook_cyg_next_enter = next_of("__cyg_profile_func_enter");
	hook_cyg_next_exit = next_of("__cyg_profile_func_exit");
	settle(RECORD_FUNCTION);
}

/* After the hook of sites, so that no function is traced twice. */
LIFECYCLE(LIFECYCLE_HOOK_2, start, NULL, NULL);
