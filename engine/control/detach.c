/* SPDX-License-Identifier: MIT */
/*
 * `vestige detach`: all tracing ends, and the engine undoes its changes to the program
 * (core/rest.h): jumps to islands, and the words by which it interposes on libc. The library, the
 * islands (a thread may still run there) and the agent stay. A write to any control file undoes
 * the detach, without a second dlopen(). The agent looks once a second whether it is the last
 * thread, and does nothing else.
 *
 * Under the tree lock. fork: a child of a detached engine has no engine. Tests: tests/cli/attach.
 */
#include "engine/control/detach.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/func_command.h"
#include "engine/core/ops.h"
#include "engine/core/rest.h"
#include "engine/core/stack_tracer.h"
#include "engine/core/trace_array.h"
#include "engine/events/atrace.h"
#include "engine/events/event.h"
#include "engine/events/probe/dynevent.h"

static int asleep;

static void turn(int to)
{
	const struct rest *const *at;

	if (asleep == to)
		return;
	asleep = to;
	REGISTRY_EACH (vestige_rest, at)
		(*at)->rest(to);
}

/* The files that start tracing, and the text that ends it. */
static const struct {
	const char *file, *text;
} off[] = {
	{"current_tracer", "nop"},     {"function_profile_enabled", "0"},
	{"stack_tracer_enabled", "0"}, {"ksym_trace_filter", "0"},
	{"mmiotrace_filter", "0"},     {"kmemtrace_stacks", "0"},
	{"prove_locking", "0"},	       {"ftrace_dump_on_oops", "0"},
	{"options/guard", "0"},	       {"set_ftrace_filter", ""},
	{"set_ftrace_notrace", ""},    {"set_graph_function", ""},
	{"set_graph_notrace", ""},
};

static void end_tracing(void)
{
	uint32_t i;

	for (i = 1; i < RING_MAX; i++)
		if (trace_array_at(i))
			trace_array_destroy(trace_array_at(i));
	for (i = 0; i < ARRAY_SIZE(off); i++)
		tree_write_locked(off[i].file, off[i].text, strlen(off[i].text), 1);
	func_commands_clear(&global_trace);
	events_clear(&global_trace);
	atrace_clear();
	dyn_events_clear(DYN_ANY);
}

static int is_busy(void)
{
	return ftrace_any() || events_any_on(&global_trace) || atrace_any_on() ||
	       stack_tracer_is_on();
}

static uint64_t attached_get(const struct tree_at *at)
{
	(void)at;
	return !asleep;
}

static int attached_set(const struct tree_at *at, uint64_t on)
{
	(void)at;
	if (!on)
		end_tracing();
	if (!on && is_busy())
		return -EBUSY;
	turn(!on);
	return 0;
}

void detach_wake(const struct tree_row *row)
{
	if (!row || row->set != attached_set)
		turn(0);
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"vestige_attached", 0644, .scope = TREE_GLOBAL, .type = TREE_BOOL,
	 .get = attached_get, .set = attached_set,
	 .help = "0: the engine sleeps (vestige detach) until a control file is written; writing 0 ends all "
		"that traces, and removes instances and dynamic events"},
};
/* clang-format on */
TREE_FILES(rows);
