/* SPDX-License-Identifier: MIT */
/*
 * The function_graph tracer: each call with its return, which gives its duration and the calls
 * within it. The hook wraps the calls of the functions that pass the filters. It writes
 * RECORD_ENTRY and RECORD_EXIT around each call, RECORD_TAIL where a tail call replaced its caller,
 * RECORD_UNWOUND for unwound calls, and RECORD_STACK where the thread changed to another stack;
 * with funcgraph-args RECORD_ENTRY_ARGS, with funcgraph-retval RECORD_EXIT_VALUE. No hot path in
 * this file.
 * Costs: bench "function_graph". Tests: tests/engine/graph.
 */
#include <stddef.h>

#include "engine/core/tracer.h"

static int graph_init(struct trace_array *tr)
{
	return ftrace_start(tr, RECORD_ENTRY);
}

static void graph_reset(struct trace_array *tr)
{
	ftrace_stop(tr);
}

/* Options that add data to records; all others only control how the tools print. */
static int graph_set_option(struct trace_array *tr, enum area_option option, int value)
{
	uint32_t *what = option == AREA_OPTION_FUNCGRAPH_ARGS	  ? &graph_args
			 : option == AREA_OPTION_FUNCGRAPH_RETVAL ? &graph_retval
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

static const struct tracer graph_tracer = {
	.name = "function_graph",
	.init = graph_init,
	.reset = graph_reset,
	.set_option = graph_set_option,
	/* the kernel's options that have an effect in a process */
	.options = TRACER_OPTION(AREA_OPTION_FUNCGRAPH_OVERRUN) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_CPU) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_OVERHEAD) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_PROC) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_DURATION) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_ABSTIME) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_TAIL) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_RETVAL) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_RETVAL_HEX) |
		   TRACER_OPTION(AREA_OPTION_FUNCGRAPH_ARGS),
	.allow_instances = 1,
};
TRACER_REGISTER(graph_tracer);
