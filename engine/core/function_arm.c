/* SPDX-License-Identifier: MIT */
/*
 * Has the hooks patch the functions that the users of calls want (ops.h): at each change of the
 * users, and when objects are loaded. Under the tree lock. fork: the child's text stays patched.
 * Costs: bench "start". Tests: tests/engine/fire/late, control, dlopen.
 */
#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/lifecycle.h"
#include "engine/core/function.h"
#include "engine/core/hook.h"
#include "engine/core/ops.h"
#include "engine/core/rest.h"
#include "engine/core/trace_array.h"

static enum record_kind last_kind = RECORD_FUNCTION; /* kind of the records that were armed last */

struct function_set graph_function = {.shown = AREA_FILTER_GRAPH, .ring = ring_top};
struct function_set graph_notrace = {.shown = AREA_FILTER_GRAPH_NOTRACE, .ring = ring_top};
uint32_t graph_max_depth;
uint64_t tracing_thresh_ns;
uint32_t function_args, graph_args, graph_retval;

/* Arm one object's functions; how[0] is for its first function. */
static int arm_object(struct object *o, uint8_t *how)
{
	const struct area_object *row = object_row(o);
	const struct hook *hook;
	uint32_t i, h, nr;
	int err, ret = 0;

	for (i = 0; i < row->nr_functions; i++) {
		how[i] = ops_how(row->first_function + i, &nr);
		area_function(row->first_function + i)->callbacks = (uint8_t)nr;
	}
	for (h = 0; (hook = hook_at(h)); h++) {
		err = hook->arm(o, how, last_kind);
		if (err) {
			area_status("functions of this object cannot be patched", o->path, err);
			ret = err;
		}
	}
	return ret;
}

/* Patch the text of all objects for the current users. */
static int arm_all(void)
{
	size_t bytes = function_count();
	uint32_t i, done = 0, failed = 0;
	uint8_t *how = sys_map_anon(bytes);
	int err, last = 0;

	if (!how)
		return -ENOMEM;
	if (global_trace.ops.is_on)
		last_kind = ftrace_top_graph() ? RECORD_ENTRY : RECORD_FUNCTION;
	for (i = 0; i < object_count(); i++) {
		if (!object_row(object_at(i))->nr_functions || !object_at(i)->loaded)
			continue;
		err = arm_object(object_at(i), how);
		if (err) {
			failed++;
			last = err;
		} else {
			done++;
		}
	}
	sys_munmap(how, bytes);
	return failed && !done ? last : 0;
}

int functions_settle(void)
{
	const struct hook *hook;
	uint32_t h;
	int err = 0;

	for (h = 0; (hook = hook_at(h)) && !err; h++)
		if (hook->settle)
			err = hook->settle();
	return err;
}

int functions_arm(void)
{
	int err = functions_settle();

	return err ? err : arm_all();
}

int functions_prepare(enum record_kind kind)
{
	const struct hook *hook;
	uint32_t h;
	int err = 0;

	for (h = 0; (hook = hook_at(h)) && !err; h++)
		if (hook->prepare)
			err = hook->prepare(kind);
	return err;
}

void functions_finish(enum record_kind kind)
{
	const struct hook *hook;
	uint32_t h;

	for (h = 0; (hook = hook_at(h)); h++)
		if (hook->finish)
			hook->finish(kind);
}

static void rest_functions(int asleep)
{
	const struct hook *hook;
	uint32_t i, h, left = 0;
	int n;

	for (i = 0; i < object_count() && asleep; i++) {
		struct object *o = object_at(i);

		if (!object_row(o)->nr_functions || !o->loaded)
			continue;
		for (h = 0; (hook = hook_at(h)); h++) {
			n = hook->rest ? hook->rest(o) : 0;
			if (n < 0)
				area_status("its text stays changed", o->path, n);
			left += n < 0 ? 1 : (uint32_t)n;
		}
	}
	if (left)
		area_status(
			"functions that keep a jump while the engine sleeps: threads could not be "
			"stopped",
			NULL, 0);
}

REST(rest_functions);

/* By the filters alone: an object in which nothing is wanted need not be scanned. */
static void name_pending(struct object *o)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (tr)
			function_set_name_pending(&tr->filter, o);
	}
}

static void apply_pending(const struct object *o)
{
	struct trace_array *tr;
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		tr = trace_array_at(i);
		if (!tr)
			continue;
		function_set_take_pending(&tr->filter, o);
		function_set_take_pending(&tr->notrace, o);
	}
}

void functions_update(void)
{
	uint32_t i, first_new;
	int scanned = 0;

	if (objects_update(&first_new, functions_forget))
		area_status("not all loaded objects are known: the table is full", NULL, 0);
	for (i = first_new; i < object_count(); i++) {
		object_at(i)->fresh = !object_at(i)->elsewhere;
		name_pending(object_at(i));
		functions_meet(object_at(i));
		scanned |= object_row(object_at(i))->nr_functions > 0;
		if (object_row(object_at(i))->nr_functions)
			apply_pending(object_at(i));
	}
	if (scanned && ftrace_any())
		ftrace_update();
	for (i = first_new; i < object_count(); i++)
		object_at(i)->fresh = 0;
	trace_arrays_sync();
}

static void fork_functions(const struct lifecycle_fork *f)
{
	if (f->when == LIFECYCLE_FORK_RESUME)
		ftrace_graph_update();
}

LIFECYCLE(LIFECYCLE_CORE, NULL, fork_functions, NULL);
OBJECT_FOLLOWER(OBJECT_FOLLOW_FUNCTIONS, functions_update);
