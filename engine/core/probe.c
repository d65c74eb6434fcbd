/* SPDX-License-Identifier: MIT */
/*
 * See probe.h. A group is a command with or without a count in one instance: the kernel keeps them
 * apart, and so does the `!` that removes them. It has one callback of ops.h, whose set is all of its
 * functions, and a row of AREA_PROBES for each, where the count is; readers list the rows.
 *
 * dump and cpudump are printed to the kernel's console there. Here what was recorded is kept in the
 * area, which outlives the process: they stop recording, once, and anybody may read it then.
 *
 * Callbacks run at any instruction: they change a count and tracing_on. fork: the child's area has the
 * rows of the top instance (area_fork), its other instances are gone. Tests: tests/engine/fire/probes.
 */
#include "engine/core/probe.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring.h"

struct group {
	struct trace_array *tr; /* NULL: the group is free */
	uint8_t command;	/* enum area_probe_command */
	uint8_t counted;
	uint64_t order;
	struct function_set members;
	uint32_t *row_of; /* by id: its row + 1 */
	uint32_t nr_ids;
};

static struct group groups[OPS_MAX];
static uint64_t last_order;

static const struct {
	const char *name;
	uint8_t command;
	int8_t once; /* whatever the count says */
} commands[] = {
	{"traceon", AREA_PROBE_TRACEON, 0},
	{"traceoff", AREA_PROBE_TRACEOFF, 0},
	{"dump", AREA_PROBE_DUMP, 1},
	{"cpudump", AREA_PROBE_CPUDUMP, 1},
};

static struct area_probe *row_at(const struct group *g, uint32_t i)
{
	return area_entry_in(trace_array_area(g->tr), AREA_PROBES, i);
}

/* Whether it may do so once more. */
static int take_one(struct area_probe *row)
{
	int64_t n = load_relaxed(&row->count);

	while (n > 0)
		if (__atomic_compare_exchange_n(&row->count, &n, n - 1, 0, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return 1;
	return n < 0;
}

static void hit(uint32_t id, void *arg)
{
	const struct group *g = arg;
	int on = g->command == AREA_PROBE_TRACEON;
	uint32_t row;

	if (!area || id >= g->nr_ids || ring_is_on(g->tr->ring) == on)
		return;
	row = load_relaxed(&g->row_of[id]);
	if (row && take_one(row_at(g, row - 1)))
		ring_set_on(g->tr->ring, on);
}

static struct group *find(const struct trace_array *tr, uint8_t command, uint8_t counted)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr == tr &&
		    (!tr || (groups[i].command == command && groups[i].counted == counted)))
			return &groups[i];
	return NULL;
}

static void release(struct group *g)
{
	struct ops *o = ops_find(g);

	if (o) {
		ops_unregister(o);
		ops_put(o);
	}
	function_set_free(&g->members);
	sys_munmap(g->row_of, (size_t)g->nr_ids * sizeof(*g->row_of));
	*g = (struct group){0};
}

static struct group *make(struct trace_array *tr, uint8_t command, uint8_t counted)
{
	uint32_t n = area->tables[AREA_FUNCTIONS].capacity;
	struct group *g = find(NULL, 0, 0);
	long p;

	if (!g || !ops_get(g))
		return NULL;
	/* room for every id there can be: memory comes with the first store */
	p = sys_mmap(NULL, n * sizeof(*g->row_of), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sys_failed(p)) {
		ops_put(ops_find(g));
		return NULL;
	}
	*g = (struct group){.tr = tr,
			    .command = command,
			    .counted = counted,
			    .order = ++last_order,
			    .row_of = (uint32_t *)p,
			    .nr_ids = n};
	return g;
}

/* A free row, or a new one. Return: its index or -ENOSPC. */
static long new_row(struct trace_array *tr)
{
	struct area_header *head = trace_array_area(tr);
	struct area_table *t = &head->tables[AREA_PROBES];
	uint32_t i;

	for (i = tr->first_free_probe; i < t->count; i++) {
		const struct area_probe *row = area_entry_in(head, AREA_PROBES, i);

		if (!row->command)
			break;
	}
	tr->first_free_probe = i;
	if (i == t->count && (i == t->capacity || area_reserve_in(head, AREA_PROBES, i + 1)))
		return -ENOSPC;
	return i;
}

static int add_member(struct group *g, uint32_t id, int64_t count)
{
	struct area_table *t = &trace_array_area(g->tr)->tables[AREA_PROBES];
	long i = new_row(g->tr);

	if (i < 0 || function_set_put(&g->members, id, 1))
		return -ENOSPC;
	*row_at(g, (uint32_t)i) = (struct area_probe){.function = id,
						      .command = g->command,
						      .counted = g->counted,
						      .count = count,
						      .order = g->order};
	if ((uint32_t)i == t->count)
		store_release(&t->count, (uint32_t)i + 1);
	store_relaxed(&g->row_of[id], (uint32_t)i + 1);
	return 0;
}

static void remove_member(struct group *g, uint32_t id)
{
	uint32_t row = g->row_of[id] - 1;

	store_relaxed(&g->row_of[id], 0);
	function_set_put(&g->members, id, 0);
	row_at(g, row)->command = 0;
	if (row < g->tr->first_free_probe)
		g->tr->first_free_probe = row;
}

/* Change the group by the functions of @named. Return: how many were changed, or -ENOSPC. */
static int change_members(struct group *g, const struct function_set *named, int add, int64_t count)
{
	uint32_t id, n = 0;

	for (id = 0; id < named->nr; id++) {
		if (!function_set_has(named, id) || function_set_has(&g->members, id) == add)
			continue;
		n++;
		if (!add)
			remove_member(g, id);
		else if (add_member(g, id, count))
			return -ENOSPC;
	}
	return n > INT32_MAX ? INT32_MAX : (int)n;
}

/* `COMMAND[:COUNT]`. *@count: -1 is always. Return: 0 or -EINVAL. */
static int parse(const struct function_word *w, uint8_t *command, uint8_t *counted, int64_t *count)
{
	size_t name = 0, end;
	uint64_t v;
	uint32_t i;

	while (name < w->command_bytes && w->command[name] != ':')
		name++;
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (strlen(commands[i].name) == name && !memcmp(commands[i].name, w->command, name))
			break;
	if (i == ARRAY_SIZE(commands))
		return -EINVAL;
	*command = commands[i].command;
	/* what is removed is named by whether there is anything behind the name */
	*counted = name < w->command_bytes;
	*count = -1;
	if (commands[i].once) {
		*counted = 1;
		*count = 1;
		return 0;
	}
	if (!*counted || !w->add)
		return 0;
	for (end = ++name; end < w->command_bytes && w->command[end] != ':'; end++)
		;
	if (end == name)
		return 0;
	if (str_to_u64(w->command + name, end - name, &v))
		return -EINVAL;
	*count = v < INT64_MAX ? (int64_t)v : INT64_MAX;
	return 0;
}

int probe_apply(struct trace_array *tr, const struct function_word *w)
{
	struct function_set named = {0};
	uint8_t command, counted;
	struct group *g;
	int64_t count;
	int err = parse(w, &command, &counted, &count), n;

	if (err)
		return err;
	g = find(tr, command, counted);
	if (!g && !w->add)
		return -ENODEV;
	err = function_set_apply(&named, w->glob, w->n);
	if (!err && !g) {
		g = make(tr, command, counted);
		err = g ? 0 : -ENOMEM;
	}
	if (err) {
		function_set_free(&named);
		return err;
	}
	n = change_members(g, &named, w->add, count);
	function_set_free(&named);
	if (g->members.count)
		err = ops_register_own(ops_find(g), hit, &g->members);
	else
		release(g);
	return n < 0 ? n : n ? err : -EINVAL;
}

void probes_clear(struct trace_array *tr)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr == tr)
			release(&groups[i]);
}

void probes_fork(void)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr && !trace_array_is_top(groups[i].tr))
			release(&groups[i]);
}
