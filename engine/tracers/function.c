/* SPDX-License-Identifier: MIT */
/*
 * The function tracer: which function was called, and from where. Each call of a function that
 * passes the filters makes one RECORD_FUNCTION, or with func-args one RECORD_FUNCTION_ARGS. The
 * hook writes the record, so this file has no hot path.
 * Costs: bench "function tracer". Tests: tests/engine/hooks, tests/engine/fire.
 */
#include <stddef.h>

#include "engine/core/func_repeats.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"

static int function_init(struct trace_array *tr)
{
	return ftrace_start(tr, RECORD_FUNCTION);
}

static void function_reset(struct trace_array *tr)
{
	ftrace_stop(tr);
}

static int is_current(const struct trace_array *tr)
{
	return tr->ops.is_on && !(tr->ops.how & OPS_GRAPH);
}

/* Sites must lead to other entry points, so they are armed again. */
static int function_set_option(struct trace_array *tr, enum area_option option, int value)
{
	int stacks = option == AREA_OPTION_FUNC_STACK_TRACE;
	int repeats = option == AREA_OPTION_FUNC_NO_REPEATS;
	int current = (stacks || trace_array_is_top(tr)) && is_current(tr), err = 0;

	if (!stacks && !repeats && option != AREA_OPTION_FUNC_ARGS)
		return 0;
	if (value && stacks)
		err = stack_start();
	else if (value && repeats)
		err = func_repeats_start();
	if (err)
		return err;
	if (current)
		ftrace_stop(tr);
	if (stacks)
		tr->with_stacks = (uint8_t)value;
	else if (repeats) /* instances look at it, too */
		tr->no_repeats = (uint8_t)value;
	else if (trace_array_is_top(tr)) /* the others ask for each record */
		function_args = (uint32_t)value;
	if (current)
		err = ftrace_start(tr, RECORD_FUNCTION);
	return err;
}

static const struct tracer function_tracer = {
	.name = "function",
	.init = function_init,
	.reset = function_reset,
	.set_option = function_set_option,
	.options = TRACER_OPTION(AREA_OPTION_FUNC_ARGS) |
		   TRACER_OPTION(AREA_OPTION_FUNC_STACK_TRACE) |
		   TRACER_OPTION(AREA_OPTION_FUNC_NO_REPEATS),
	.allow_instances = 1,
};
TRACER_REGISTER(function_tracer);
