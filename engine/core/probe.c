/* SPDX-License-Identifier: MIT */
/*
 * See probe.h. A group is a command with or without a count in one instance: the kernel keeps them
 * apart, and so does the `!` that removes them. It has one callback of ops.h, whose set is all of its
 * functions, and a row of AREA_PROBES for each, where the count is; readers list the rows.
 *
 * dump and cpudump are printed to the kernel's console there. Here what was recorded is kept in the
 * area, which outlives the process: they stop recording, once, and anybody may read it then.
 *
 * Callbacks run at any instruction: they change a count and tracing_on, take a snapshot (the call is in it when
 * the tracer wrote it before) or record the stack. fork: the child's areas have the
 * rows of its parent's (area_fork). Tests: tests/engine/fire/probes.
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
#include "engine/core/stack.h"
#include "engine/core/trace_array.h"
#include "engine/ring/ring.h"

struct group {
	struct trace_array *tr;	       /* NULL: the group is free */
	const struct probe_kind *kind; /* NULL: it is one of ours */
	void *object;		       /* of the kind */
	uint16_t id;		       /* the object's, for rows */
	uint8_t command;	       /* enum area_probe_command */
	uint8_t counted;
	uint64_t order;
	struct function_set members;
	uint32_t *row_of; /* by id: its row + 1 */
	uint32_t nr_ids;
};

static struct group groups[OPS_MAX];
static uint64_t last_order;
static const struct probe_kind *kinds;

void probe_kinds_register(const struct probe_kind *table)
{
	kinds = table;
}

static const struct {
	const char *name;
	uint8_t command;
	int8_t once; /* whatever the count says */
} commands[] = {
	{"traceon", AREA_PROBE_TRACEON, 0},   {"traceoff", AREA_PROBE_TRACEOFF, 0},
	{"dump", AREA_PROBE_DUMP, 1},	      {"cpudump", AREA_PROBE_CPUDUMP, 1},
	{"snapshot", AREA_PROBE_SNAPSHOT, 0}, {"stacktrace", AREA_PROBE_STACKTRACE, 0},
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

static void hit(uint32_t id, void *arg, const struct ops_frame *frame)
{
	const struct group *g = arg;
	int on = g->command == AREA_PROBE_TRACEON;
	uint32_t row;

	if (!frame || !area || id >= g->nr_ids || ring_is_on(g->tr->ring) == on)
		return;
	row = load_relaxed(&g->row_of[id]);
	if (row && take_one(row_at(g, row - 1)))
		ring_set_on(g->tr->ring, on);
}

/* These count whenever they are called. */
static void hit_always(uint32_t id, void *arg, const struct ops_frame *frame)
{
	const struct group *g = arg;
	uint32_t row;

	if (!frame || !area || id >= g->nr_ids)
		return;
	row = load_relaxed(&g->row_of[id]);
	if (!row || !take_one(row_at(g, row - 1)))
		return;
	if (g->command == AREA_PROBE_SNAPSHOT)
		ring_snapshot(g->tr->ring, UINT32_MAX);
	else
		stack_record(g->tr->ring);
}

/* What the command needs, before its first hit. */
static int prepare(struct trace_array *tr, uint8_t command)
{
	if (command == AREA_PROBE_SNAPSHOT)
		return trace_array_alloc_snapshot(tr);
	return command == AREA_PROBE_STACKTRACE ? stack_start() : 0;
}

static void hit_kind(uint32_t id, void *arg, const struct ops_frame *frame)
{
	const struct group *g = arg;
	uint32_t row;

	if (!frame || !area || id >= g->nr_ids || !g->kind->changes(g->object))
		return;
	row = load_relaxed(&g->row_of[id]);
	if (row && take_one(row_at(g, row - 1)))
		g->kind->act(g->object);
}

static ops_own_func *hit_of(const struct group *g)
{
	if (g->kind)
		return hit_kind;
	return g->command == AREA_PROBE_SNAPSHOT || g->command == AREA_PROBE_STACKTRACE ? hit_always
											: hit;
}

/* What a word says. */
struct command {
	uint8_t command; /* enum area_probe_command */
	uint8_t counted;
	uint16_t id;
	int64_t count; /* -1: always */
	const struct probe_kind *kind;
	void *object;
};

/* The instance's group of that command; @tr NULL: a free one. */
static struct group *find(const struct trace_array *tr, const struct command *c)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr == tr &&
		    (!tr || (groups[i].command == c->command && groups[i].counted == c->counted &&
			     groups[i].object == c->object)))
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
	if (g->kind)
		g->kind->put(g->object);
	function_set_free(&g->members);
	sys_munmap(g->row_of, (size_t)g->nr_ids * sizeof(*g->row_of));
	*g = (struct group){0};
}

static struct group *make(struct trace_array *tr, const struct command *c)
{
	uint32_t n = area->tables[AREA_FUNCTIONS].capacity;
	struct group *g = find(NULL, c);
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
	if (c->kind && c->kind->get(c->object)) {
		ops_put(ops_find(g));
		sys_munmap((void *)p, n * sizeof(*g->row_of));
		return NULL;
	}
	*g = (struct group){.tr = tr,
			    .kind = c->kind,
			    .object = c->object,
			    .id = c->id,
			    .command = c->command,
			    .counted = c->counted,
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
						      .event = g->id,
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

/* The kind's table entry of that name; or NULL. */
static const struct probe_kind *find_kind(const char *name, size_t n)
{
	const struct probe_kind *k;

	for (k = kinds; k && k->name; k++)
		if (strlen(k->name) == n && !memcmp(k->name, name, n))
			return k;
	return NULL;
}

/* The command of that name, and what it is about. Return: bytes of @text that say so, or -EINVAL. */
static long parse_name(struct trace_array *tr, const char *text, size_t n, struct command *c,
		       int *once)
{
	size_t name = 0, used;
	uint32_t i;

	*once = 0;
	while (name < n && text[name] != ':')
		name++;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		if (strlen(commands[i].name) == name && !memcmp(commands[i].name, text, name)) {
			c->command = commands[i].command;
			*once = commands[i].once;
			return (long)name;
		}
	}
	c->kind = find_kind(text, name);
	if (!c->kind || name == n)
		return -EINVAL;
	c->command = c->kind->command;
	name++;
	c->object = c->kind->find(tr, text + name, n - name, &used, &c->id);
	return c->object ? (long)(name + used) : -EINVAL;
}

/* `COMMAND[:COUNT]`. Return: 0 or -EINVAL. */
static int parse(struct trace_array *tr, const struct function_word *w, struct command *c)
{
	size_t at, end;
	uint64_t v;
	int once;
	long name;

	*c = (struct command){.count = -1};
	name = parse_name(tr, w->command, w->command_bytes, c, &once);
	if (name < 0)
		return (int)name;
	at = (size_t)name;
	/* what is removed is named by whether there is anything behind the name */
	c->counted = at < w->command_bytes;
	if (once) {
		c->counted = 1;
		c->count = 1;
		return 0;
	}
	if (!c->counted || !w->add)
		return 0;
	for (end = ++at; end < w->command_bytes && w->command[end] != ':'; end++)
		;
	if (end == at)
		return 0;
	if (str_to_u64(w->command + at, end - at, &v))
		return -EINVAL;
	c->count = v < INT64_MAX ? (int64_t)v : INT64_MAX;
	return 0;
}

int probe_apply(struct trace_array *tr, const struct function_word *w)
{
	struct function_set named = {0};
	struct command c;
	struct group *g;
	int err = parse(tr, w, &c), n;

	if (err)
		return err;
	g = find(tr, &c);
	if (!g && !w->add)
		return -ENODEV;
	err = function_set_apply(&named, w->glob, w->n);
	if (!err && w->add)
		err = prepare(tr, c.command);
	if (!err && !g) {
		g = make(tr, &c);
		err = g ? 0 : -ENOMEM;
	}
	if (err) {
		function_set_free(&named);
		return err;
	}
	n = change_members(g, &named, w->add, c.count);
	function_set_free(&named);
	if (g->members.count)
		err = ops_register_own(ops_find(g), hit_of(g), &g->members);
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
