/* SPDX-License-Identifier: MIT */
/*
 * See ops.h: the users of calls that are on, and the lists that are computed from them. Whenever a
 * user or a filter changes, both lists are made again with all bits and published, and the text is
 * patched. The old lists are freed after their grace periods, or kept if those do not end. The list
 * of callbacks is made again only if a callback has changed or functions were found: its readers
 * may stay in it for long.
 *
 * Under the tree lock; ops_call.c reads the lists during calls. fork: ops_fork(). Costs: bench
 * "switching". Tests: tests/engine/fire/{ops,instances,probes}.
 */
#include "engine/core/ops.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/bitmap.h"
#include "engine/core/function.h"
#include "engine/core/function_pending.h"
#include "engine/core/trace_array.h"
#include "engine/process/area.h"

static struct call_ops *users; /* users that are on, in the order of their registration */

static struct ops_list no_list;
uint32_t ops_nr_wrapping;
static struct ops_callbacks no_callbacks;
struct ops_list *ops_current = &no_list;
struct ops_callbacks *ops_callbacks = &no_callbacks;
static uint32_t nr_known; /* number of functions when the callbacks' list was made */
static int callbacks_are_stale;

/* Lists that were replaced; NULL: a list that was not. */
struct old_lists {
	struct ops_list *list;
	struct ops_callbacks *callbacks;
};

static uint64_t *next_of; /* indexed by function id */
static uint32_t nr_next;

static int is_callback(const struct call_ops *o)
{
	return o->kind == OPS_CALLBACK || o->kind == OPS_ENTRY;
}

static int wants_any(const struct call_ops *o)
{
	return !o->named_only || o->filter->count;
}

static int wants(const struct call_ops *o, uint32_t id)
{
	if (o->notrace && function_set_has(o->notrace, id))
		return 0;
	return o->wants_all || function_set_has(o->filter, id);
}

/* Only a call that is seen at the function's first instruction can serve several users. */
static int serves_all(const struct area_function *f)
{
	return (f->how == AREA_BY_NOPS || f->how == AREA_BY_FENTRY || f->how == AREA_BY_REDIRECT) &&
	       !(f->flags & AREA_FUNCTION_PASSED_ON);
}

uint8_t ops_how(uint32_t id, uint32_t *nr)
{
	int all = serves_all(area_function(id));
	const struct call_ops *o;
	uint8_t how = 0;

	*nr = 0;
	for (o = users; o; o = o->next) {
		if ((!all && o->kind != OPS_TRACER) || !wants(o, id))
			continue;
		how |= all ? o->how : o->how & (OPS_RECORD | OPS_GRAPH);
		++*nr;
	}
	return how;
}

uint64_t ops_next(uint32_t id)
{
	const uint64_t *nexts = load_acquire(&next_of);

	return nexts && id < load_relaxed(&nr_next) ? load_relaxed(&nexts[id]) : OPS_GO_ON;
}

int ops_set_next(uint32_t id, uint64_t next)
{
	uint32_t n = area->tables[AREA_FUNCTIONS].capacity;
	uint64_t *table;

	if (!next_of) {
		/* room for each possible id */
		table = sys_map_table((size_t)n * 8);
		if (!table)
			return -ENOMEM;
		store_release(&nr_next, n);
		store_release(&next_of, table);
	}
	if (id < n)
		store_relaxed(&next_of[id], next);
	return 0;
}

/* Whether a user is in a list: the top instance's graph is, if others make a graph, too. */
static int is_listed(const struct call_ops *o, int graphs)
{
	if (is_callback(o))
		return 0;
	return o->kind == OPS_TRACER ? graphs && o->how & OPS_GRAPH : wants_any(o);
}

static int others_graph(void)
{
	const struct call_ops *o;

	if (ops_nr_wrapping)
		return 1;
	for (o = users; o; o = o->next)
		if (o->kind != OPS_TRACER && o->how & OPS_GRAPH && wants_any(o))
			return 1;
	return 0;
}

/* A user's entry in a list. @bits: zeroed memory for the functions that @o wants. */
static struct ops_user user_of(const struct call_ops *o, uint64_t *bits, uint32_t n)
{
	uint32_t id;

	for (id = 0; id < n; id++)
		if (wants(o, id))
			bitmap_set(bits, id);
	return (struct ops_user){
		.ring = o->kind == OPS_TRACER || o->kind == OPS_INSTANCE ? o->ring : NULL,
		.bits = bits,
		.nr_bits = n,
	};
}

static struct ops_user *place_in(struct ops_list *l, const struct call_ops *o)
{
	switch (o->kind) {
	case OPS_RETURN:
		return &l->returns;
	case OPS_PROFILE:
		return &l->profile;
	default:
		return o->how & OPS_GRAPH ? &l->graph[l->nr_graph++]
					  : &l->function[l->nr_function++];
	}
}

/* Make a list. NULL: no memory. */
static struct ops_list *make_list(uint32_t n)
{
	size_t words = (size_t)n / 64 + 1, bytes = sizeof(struct ops_list);
	int graphs = others_graph();
	const struct call_ops *o;
	struct ops_list *l;
	uint64_t *bits;
	uint32_t nr = 0;

	for (o = users; o; o = o->next)
		nr += (uint32_t)is_listed(o, graphs);
	if (!nr)
		return &no_list;
	bytes += nr * words * 8;
	l = sys_map_anon(bytes);
	if (!l)
		return NULL;
	l->bytes = bytes;
	bits = (uint64_t *)(l + 1);
	for (o = users; o; o = o->next) {
		if (!is_listed(o, graphs))
			continue;
		*place_in(l, o) = user_of(o, bits, n);
		bits += words;
	}
	return l;
}

static struct ops_callbacks *make_callbacks(uint32_t n)
{
	size_t words = (size_t)n / 64 + 1, bytes = sizeof(struct ops_callbacks);
	const struct call_ops *o;
	struct ops_callbacks *l;
	uint64_t *bits;
	uint32_t nr = 0;

	for (o = users; o; o = o->next)
		nr += is_callback(o) && wants_any(o);
	if (!nr)
		return &no_callbacks;
	bytes += nr * (sizeof(l->at[0]) + words * 8);
	l = sys_map_anon(bytes);
	if (!l)
		return NULL;
	l->bytes = bytes;
	bits = (uint64_t *)&l->at[nr];
	for (o = users; o; o = o->next) {
		if (!is_callback(o) || !wants_any(o))
			continue;
		l->at[l->nr++] = (struct ops_callback){
			.func = o->kind == OPS_CALLBACK ? o->func : NULL,
			.entry = o->kind == OPS_ENTRY ? o->entry : NULL,
			.arg = o->arg,
			.user = user_of(o, bits, n),
		};
		bits += words;
	}
	return l;
}

static void free_list(struct ops_list *l)
{
	if (l && l != &no_list)
		sys_munmap(l, l->bytes);
}

static void free_callbacks(struct ops_callbacks *l)
{
	if (l && l != &no_callbacks)
		sys_munmap(l, l->bytes);
}

/* Publish new lists. Return: 0; -ENOMEM: nothing has changed. */
static int publish(struct old_lists *old)
{
	uint32_t n = function_count();
	struct ops_callbacks *callbacks = NULL;
	struct ops_list *list;
	struct call_ops *o;

	for (o = users; o; o = o->next)
		o->wants_all = !o->named_only && !o->filter->count && !pending_any(o->filter);
	list = make_list(n);
	if (!list)
		return -ENOMEM;
	if (callbacks_are_stale || n != nr_known) {
		callbacks = make_callbacks(n);
		if (!callbacks) {
			free_list(list);
			return -ENOMEM;
		}
	}
	*old = (struct old_lists){.list = ops_current};
	__atomic_store_n(&ops_current, list, __ATOMIC_SEQ_CST);
	if (!callbacks)
		return 0;
	callbacks_are_stale = 0;
	nr_known = n;
	old->callbacks = ops_callbacks;
	__atomic_store_n(&ops_callbacks, callbacks, __ATOMIC_SEQ_CST);
	return 0;
}

/*
 * Free the replaced lists after their grace period. A list that a thread does not leave is kept.
 * Return: whether no thread can be in a callback that was in the old list.
 */
static int retire(const struct old_lists *old)
{
	if (old->list && old->list != &no_list && !ring_synchronize())
		free_list(old->list);
	if (!old->callbacks)
		return 1;
	if (synchronize_srcu(SRCU_OPS))
		return 0;
	free_callbacks(old->callbacks);
	return 1;
}

int ftrace_update(void)
{
	struct old_lists old;
	int err;

	if (!function_count())
		return 0;
	err = publish(&old);
	if (err)
		return err;
	err = functions_arm();
	retire(&old);
	return err;
}

static void link_user(struct call_ops *ops, int on)
{
	struct call_ops **at = &users;

	while (*at && *at != ops)
		at = &(*at)->next;
	if (on && !*at) {
		ops->next = NULL;
		*at = ops;
	} else if (!on && *at) {
		*at = ops->next;
	}
	ops->is_on = (uint8_t)on;
	callbacks_are_stale |= is_callback(ops);
}

/* *@settled: whether no thread can be in a callback that was in the old list. */
static int change(struct call_ops *ops, int on, int *settled)
{
	int was = ops->is_on, err;
	struct old_lists old, new;

	*settled = 1;
	if (is_callback(ops) && ops_is_inside())
		return -EDEADLK;
	if (on && functions_need_again() == -ENOMEM)
		return -ENOMEM;
	link_user(ops, on);
	if (!function_count())
		return 0;
	err = publish(&old);
	if (err) {
		link_user(ops, was);
		return err;
	}
	err = functions_arm();
	if (err && on && !was) {
		link_user(ops, 0);
		if (!publish(&new)) {
			functions_arm();
			retire(&new);
		}
	}
	*settled = retire(&old);
	return err;
}

int ftrace_register(struct call_ops *ops)
{
	int settled, err;

	if (ops->kind == OPS_RETURN)
		ops_set_returns(ops->returns);
	err = change(ops, 1, &settled);
	if (!err)
		ops->is_leaving = 0;
	return err;
}

int ftrace_unregister(struct call_ops *ops)
{
	int settled, err;

	if (ops->is_leaving) {
		ops->is_leaving = synchronize_srcu(SRCU_OPS) != 0;
		return ops->is_leaving ? -ETIMEDOUT : 0;
	}
	if (!ops->is_on)
		return -EBUSY;
	err = change(ops, 0, &settled);
	ops->is_leaving = !err && !settled;
	return ops->is_leaving ? -ETIMEDOUT : err;
}

int ftrace_follow(struct call_ops *ops)
{
	if (ops->filter->count)
		return ftrace_register(ops);
	return ops->is_on ? ftrace_unregister(ops) : 0;
}

int ftrace_any(void)
{
	return users != NULL;
}

int ftrace_top_graph(void)
{
	const struct call_ops *o = &global_trace.ops;

	return o->is_on && o->how & OPS_GRAPH;
}

int ftrace_graph_update(void)
{
	return ftrace_top_graph() ? functions_prepare(RECORD_ENTRY) : functions_settle();
}

int ops_wrap_stubs(int more)
{
	uint32_t was = ops_nr_wrapping;
	int err;

	ops_nr_wrapping += (uint32_t)more;
	if (!was == !ops_nr_wrapping)
		return 0;
	err = function_count() ? ftrace_update() : functions_settle();
	if (err && more > 0) {
		ops_nr_wrapping = was;
		ftrace_update();
	}
	return err;
}

/* Report functions whose calls an instance wants but cannot have. */
static void report_left_out(const struct call_ops *ops)
{
	static int reported;
	uint32_t id;

	for (id = 0; !reported && id < function_count(); id++) {
		if (serves_all(area_function(id)) || !wants(ops, id))
			continue;
		area_status("functions of -pg without -mfentry and of -finstrument-functions are "
			    "traced in the top instance alone",
			    NULL, 0);
		reported = 1;
	}
}

static uint8_t how_of(const struct trace_array *tr, enum record_kind kind)
{
	int top = trace_array_is_top(tr);

	if (kind == RECORD_ENTRY)
		return top ? OPS_GRAPH : OPS_GRAPH | OPS_C;
	return (uint8_t)((top ? OPS_RECORD : OPS_C) | (tr->no_repeats ? OPS_C : 0) |
			 (tr->with_stacks ? OPS_C | OPS_SAVE_ALL : 0));
}

int ftrace_start(struct trace_array *tr, enum record_kind kind)
{
	int top = trace_array_is_top(tr), err;

	if (tr->ops.is_on)
		return -EBUSY;
	tr->ops = (struct call_ops){
		.kind = top ? OPS_TRACER : OPS_INSTANCE,
		.how = how_of(tr, kind),
		.filter = &tr->filter,
		.notrace = &tr->notrace,
		.ring = tr->ring,
	};
	/* hooks check whether the top instance's tracer is a graph */
	link_user(&tr->ops, 1);
	err = top ? functions_prepare(kind) : 0;
	if (err) {
		link_user(&tr->ops, 0);
		return err;
	}
	err = ftrace_register(&tr->ops);
	if (err)
		ftrace_stop(tr);
	else if (!top)
		report_left_out(&tr->ops);
	return err;
}

void ftrace_stop(struct trace_array *tr)
{
	enum record_kind kind = tr->ops.how & OPS_GRAPH ? RECORD_ENTRY : RECORD_FUNCTION;

	if (!tr->ops.is_on)
		return;
	link_user(&tr->ops, 0);
	ftrace_update();
	if (trace_array_is_top(tr))
		functions_finish(kind);
}

/* Drop the users that the child does not have. */
static void drop_users(int instances)
{
	struct call_ops *o, *next;

	for (o = users; o; o = next) {
		next = o->next;
		if (o->kind == OPS_PROFILE || (o->kind == OPS_INSTANCE && !instances))
			link_user(o, 0);
	}
}

void ops_fork(int instances)
{
	struct ops_list *l = ops_current;
	uint32_t i;

	drop_users(instances);
	if (instances) {
		l->profile.nr_bits = 0;
		return;
	}
	if (!l->returns.nr_bits && !ops_nr_wrapping) {
		ops_current = &no_list;
		return;
	}
	/* return probes stay, and keep the top instance's graph */
	for (i = 0; i < l->nr_graph && l->graph[i].ring != ring_top; i++)
		;
	if (i && i < l->nr_graph)
		l->graph[0] = l->graph[i];
	l->nr_graph = i < l->nr_graph;
	l->nr_function = 0;
	l->profile.nr_bits = 0;
}
