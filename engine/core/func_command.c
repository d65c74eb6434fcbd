/* SPDX-License-Identifier: MIT */
/*
 * See func_command.h. A group is one command, with or without a count, in one instance: as in the
 * kernel, these are separate, and so is the `!` that removes them. A group is one user of calls
 * (ops.h). Its set has all of its functions, and each has a row of AREA_PROBES with its count;
 * readers list the rows.
 *
 * In the kernel, dump and cpudump print to the console. Here the records are in the area, which
 * outlives the process. So these commands stop recording, once, and the records can be read later.
 *
 * Commands act at any instruction: they change a count and tracing_on, take a snapshot (it includes
 * the call if the tracer wrote it before) or record the stack. fork: the child's areas have the
 * rows of its parent's (area_fork). Tests: tests/engine/fire/probes.
 */
#include "engine/core/func_command.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/base/seq_buf.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/core/function.h"
#include "engine/core/ops.h"
#include "engine/core/stack.h"
#include "engine/core/trace_array.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring.h"

struct group {
	struct call_ops ops;
	struct trace_array *tr; /* NULL: the group is free */
	const struct func_command *command;
	void *object;	/* what the command acts on */
	uint16_t id;	/* id of the object, for the rows */
	uint8_t number; /* of the command, for the rows */
	uint8_t counted;
	uint8_t is_lost; /* off for ever, because a thread may still be in it */
	uint64_t order;
	struct function_set members;
	uint32_t *row_of; /* indexed by function id: the row + 1 */
	uint32_t nr_ids;
};

static struct group groups[64] BIG_ZEROS;
static uint64_t last_order;

/* For the commands on an instance: whether its recording is off. */
static int is_off(const void *tr)
{
	return !ring_is_on(((const struct trace_array *)tr)->ring);
}

static int is_on(const void *tr)
{
	return !is_off(tr);
}

static void switch_on(void *tr)
{
	tracing_set(tr, 1);
}

static void switch_off(void *tr)
{
	tracing_set(tr, 0);
}

static int prepare_snapshot(void *tr)
{
	return trace_array_alloc_snapshot(tr);
}

static void take_snapshot(void *tr)
{
	tracer_snapshot(tr, UINT32_MAX);
}

static int prepare_stack(void *tr)
{
	(void)tr;
	return stack_start();
}

static void record_stack(void *tr)
{
	stack_record(((struct trace_array *)tr)->ring);
}

static const struct func_command traceon = {.name = "traceon", .changes = is_off, .act = switch_on};
static const struct func_command traceoff = {
	.name = "traceoff", .changes = is_on, .act = switch_off};
static const struct func_command dump = {
	.name = "dump", .once = 1, .changes = is_on, .act = switch_off};
static const struct func_command cpudump = {
	.name = "cpudump", .once = 1, .changes = is_on, .act = switch_off};
static const struct func_command snapshot = {
	.name = "snapshot", .prepare = prepare_snapshot, .act = take_snapshot};
static const struct func_command stacktrace = {
	.name = "stacktrace", .prepare = prepare_stack, .act = record_stack};
FUNC_COMMAND_REGISTER(traceon);
FUNC_COMMAND_REGISTER(traceoff);
FUNC_COMMAND_REGISTER(dump);
FUNC_COMMAND_REGISTER(cpudump);
FUNC_COMMAND_REGISTER(snapshot);
FUNC_COMMAND_REGISTER(stacktrace);

static char names[AREA_FUNC_COMMANDS_BYTES];

const char *func_command_names(void)
{
	return names;
}

/* The number of a command in rows; 0: it has none, because there are too many. */
static uint8_t number_of(const struct func_command *c)
{
	struct word rest = {names, strlen(names)}, w;
	uint8_t n = 0;

	for (w = word_take(&rest); w.n && n < UINT8_MAX; w = word_take(&rest)) {
		n++;
		if (word_is(&w, c->name))
			return n;
	}
	return 0;
}

static void start(const struct lifecycle_start *how)
{
	const struct func_command *const *c;
	struct seq_buf s;

	(void)how;
	seq_init(&s, names, sizeof(names) - 1);
	seq_puts(&s, AREA_FUNC_COMMANDS);
	REGISTRY_EACH (vestige_func_commands, c) {
		if (number_of(*c) || s.len + 1 + strlen((*c)->name) > sizeof(names) - 1)
			continue;
		seq_putc(&s, ' ');
		seq_puts(&s, (*c)->name);
	}
	area->func_commands = area_string(names);
}
LIFECYCLE(LIFECYCLE_CORE, start, NULL, NULL);

static struct area_probe *row_at(const struct group *g, uint32_t i)
{
	return area_entry_in(trace_array_area(g->tr), AREA_PROBES, i);
}

/* Use up one of the row's count. Return: whether there was any left. */
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
	const struct func_command *c = g->command;
	uint32_t row;

	if (!frame || !area || id >= g->nr_ids || (c->changes && !c->changes(g->object)))
		return;
	row = load_relaxed(&g->row_of[id]);
	if (row && take_one(row_at(g, row - 1)))
		c->act(g->object);
}

/* A parsed word. */
struct parsed {
	const struct func_command *command;
	void *object;
	uint16_t id;
	uint8_t counted;
	int64_t count; /* -1: no limit */
};

/* Find the instance's group for a command; @tr: NULL: a free group. */
static struct group *find(const struct trace_array *tr, const struct parsed *c)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr == tr && !groups[i].is_lost &&
		    (!tr || (groups[i].command == c->command && groups[i].counted == c->counted &&
			     groups[i].object == c->object)))
			return &groups[i];
	return NULL;
}

static void release(struct group *g)
{
	int err = ftrace_unregister(&g->ops);

	if (g->command->put)
		g->command->put(g->object);
	function_set_free(&g->members);
	/* a thread is still inside and must find the group unchanged: keep it */
	if (err == -ETIMEDOUT) {
		g->is_lost = 1;
		return;
	}
	sys_munmap(g->row_of, (size_t)g->nr_ids * sizeof(*g->row_of));
	*g = (struct group){0};
}

static struct group *make(struct trace_array *tr, const struct parsed *c)
{
	uint32_t n = area->tables[AREA_FUNCTIONS].capacity;
	struct group *g = find(NULL, c);
	uint8_t number = number_of(c->command);
	uint32_t *row_of;

	if (!g || !number)
		return NULL;
	/* room for each possible id */
	row_of = sys_map_table(n * sizeof(*row_of));
	if (!row_of)
		return NULL;
	if (c->command->get && c->command->get(c->object)) {
		sys_munmap(row_of, n * sizeof(*row_of));
		return NULL;
	}
	*g = (struct group){.ops = {.kind = OPS_ENTRY,
				    .how = OPS_C | OPS_SAVE_ALL,
				    .named_only = 1,
				    .filter = &g->members,
				    .entry = hit,
				    .arg = g},
			    .tr = tr,
			    .command = c->command,
			    .object = c->object,
			    .id = c->id,
			    .number = number,
			    .counted = c->counted,
			    .order = ++last_order,
			    .row_of = row_of,
			    .nr_ids = n};
	return g;
}

/* Find a free row, or add one. Return: its index or -ENOSPC. */
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
						      .command = g->number,
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

/*
 * Add the functions of @named to the group, or remove them. Return: how many were changed, or
 * -ENOSPC.
 */
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

static const struct func_command *find_command(const char *name, size_t n)
{
	const struct func_command *const *c;

	REGISTRY_EACH (vestige_func_commands, c)
		if (text_is(name, n, (*c)->name))
			return *c;
	return NULL;
}

/*
 * Find the command with that name, and what it acts on. Return: bytes of @text that were used, or
 * -EINVAL.
 */
static long parse_name(struct trace_array *tr, const char *text, size_t n, struct parsed *c)
{
	size_t name = 0, used;

	while (name < n && text[name] != ':')
		name++;
	c->command = find_command(text, name);
	if (!c->command)
		return -EINVAL;
	c->object = tr;
	if (!c->command->find)
		return (long)name;
	if (name++ == n)
		return -EINVAL;
	c->object = c->command->find(tr, text + name, n - name, &used, &c->id);
	return c->object ? (long)(name + used) : -EINVAL;
}

/* Parse `COMMAND[:COUNT]`. Return: 0 or -EINVAL. */
static int parse(struct trace_array *tr, const struct function_word *w, struct parsed *c)
{
	size_t at, end;
	uint64_t v;
	long name;

	*c = (struct parsed){.count = -1};
	name = parse_name(tr, w->command, w->command_bytes, c);
	if (name < 0)
		return (int)name;
	at = (size_t)name;
	/* when a command is removed, any text behind the name selects the counted one */
	c->counted = at < w->command_bytes;
	if (c->command->once) {
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

int func_command_apply(struct trace_array *tr, const struct function_word *w)
{
	struct function_set named = {0};
	struct parsed c;
	struct group *g;
	int err = parse(tr, w, &c), n;

	if (err)
		return err;
	g = find(tr, &c);
	if (!g && !w->add)
		return -ENODEV;
	err = function_set_apply(&named, w->glob, w->n);
	if (!err && w->add && c.command->prepare)
		err = c.command->prepare(c.object);
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
		err = ftrace_register(&g->ops);
	else
		release(g);
	return n < 0 ? n : n ? err : -EINVAL;
}

void func_commands_clear(struct trace_array *tr)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].tr == tr && !groups[i].is_lost)
			release(&groups[i]);
}
