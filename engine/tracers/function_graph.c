/* SPDX-License-Identifier: MIT */
/*
 * The function_graph tracer: each call with its return, so how long it took and what it called.
 * The hook wraps the calls of the functions that the filters leave and writes RECORD_ENTRY and
 * RECORD_EXIT around each, RECORD_TAIL where a call took the place of its caller, RECORD_UNWOUND
 * where calls vanished, RECORD_STACK where the thread changed stacks; with funcgraph-args
 * RECORD_ENTRY_ARGS, with funcgraph-retval RECORD_EXIT_VALUE. No hot path in this file.
 * Costs: bench "function_graph". Tests: tests/engine/graph.
 */
#include <stddef.h>

#include "engine/core/tracer.h"

static const struct tracer_ops graph_ops = {
	.name = "function_graph",
	.kind = RECORD_ENTRY,
};

static int graph_init(struct trace_array *tr)
{
	return ftrace_register_ops(tr, &graph_ops);
}

static void graph_reset(struct trace_array *tr)
{
	ftrace_unregister_ops(tr, &graph_ops);
}

/* What records have besides; all other options only say how the outside prints. */
static int graph_set_option(struct trace_array *tr, const char *name, int value)
{
	uint32_t *what = tracer_option_is(name, "funcgraph-args")     ? &graph_args
			 : tracer_option_is(name, "funcgraph-retval") ? &graph_retval
								      : NULL;
	uint32_t was;
	int err;

	if (!what || !trace_array_is_top(tr))
		return 0;
	was = *what;
	*what = (uint32_t)value;
	err = ftrace_graph_update();
	if (err)
		*what = was;
	return err;
}

/* Those of the kernel's that change anything for a process. */
static const struct tracer_option graph_options[] = {
	{"funcgraph-overrun", 0},
	{"funcgraph-cpu", 1},
	{"funcgraph-overhead", 1},
	{"funcgraph-proc", 0},
	{"funcgraph-duration", 1},
	{"funcgraph-abstime", 0},
	{"funcgraph-tail", 0},
	{"funcgraph-retval", 0},
	{"funcgraph-retval-hex", 0},
	{"funcgraph-args", 0},
	{NULL, 0},
};

static const struct tracer graph_tracer = {
	.name = "function_graph",
	.init = graph_init,
	.reset = graph_reset,
	.set_option = graph_set_option,
	.options = graph_options,
	.record_kinds = 1u << RECORD_ENTRY | 1u << RECORD_TAIL | 1u << RECORD_EXIT |
			1u << RECORD_UNWOUND | 1u << RECORD_STACK | 1u << RECORD_RETURN |
			1u << RECORD_ENTRY_ARGS | 1u << RECORD_EXIT_VALUE,
};
TRACER_REGISTER(graph_tracer);
