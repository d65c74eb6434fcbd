/* SPDX-License-Identifier: MIT */
/*
 * The function_graph tracer: each call with its return, so how long it took and what it called.
 * The hook wraps the calls of the functions that the filters leave and writes RECORD_ENTRY and
 * RECORD_EXIT around each, RECORD_TAIL where a call took the place of its caller, RECORD_UNWOUND
 * where calls vanished, RECORD_STACK where the thread changed stacks. No hot path in this file.
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

/* How the outside prints: those of the kernel's that change anything for a process. */
static const struct tracer_option graph_options[] = {
	{"funcgraph-overrun", 0},  {"funcgraph-cpu", 1},
	{"funcgraph-overhead", 1}, {"funcgraph-proc", 0},
	{"funcgraph-duration", 1}, {"funcgraph-abstime", 0},
	{"funcgraph-tail", 0},	   {NULL, 0},
};

static const struct tracer graph_tracer = {
	.name = "function_graph",
	.init = graph_init,
	.reset = graph_reset,
	.options = graph_options,
	.record_kinds = 1u << RECORD_ENTRY | 1u << RECORD_TAIL | 1u << RECORD_EXIT |
			1u << RECORD_UNWOUND | 1u << RECORD_STACK | 1u << RECORD_RETURN,
};
TRACER_REGISTER(graph_tracer);
