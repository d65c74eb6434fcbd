/* SPDX-License-Identifier: MIT */
/*
 * The function tracer: which function was called, and from where. Each call of a function that the
 * filters leave makes one RECORD_FUNCTION, with func-args one RECORD_FUNCTION_ARGS; the hook writes
 * it, so this file has no hot path.
 * Costs: bench "function tracer". Tests: tests/engine/test_calls.py.
 */
#include <stddef.h>

#include "engine/core/func_repeats.h"
#include "engine/core/stack.h"
#include "engine/core/tracer.h"

static const struct tracer_ops function_ops = {
	.name = "function",
	.kind = RECORD_FUNCTION,
};

static int function_init(struct trace_array *tr)
{
	return ftrace_register_ops(tr, &function_ops);
}

static void function_reset(struct trace_array *tr)
{
	ftrace_unregister_ops(tr, &function_ops);
}

/* Sites lead to other entry points, so they are armed anew. */
static int function_set_option(struct trace_array *tr, const char *name, int value)
{
	int stacks = tracer_option_is(name, "func_stack_trace");
	int repeats = tracer_option_is(name, "func-no-repeats");
	int current = (stacks || trace_array_is_top(tr)) && tr->ops == &function_ops, err = 0;

	if (!stacks && !repeats && !tracer_option_is(name, "func-args"))
		return 0;
	if (value && stacks)
		err = stack_start();
	else if (value && repeats)
		err = func_repeats_start();
	if (err)
		return err;
	if (current)
		ftrace_unregister_ops(tr, &function_ops);
	if (stacks)
		tr->with_stacks = (uint8_t)value;
	else if (repeats) /* others ask their option, too */
		tr->no_repeats = (uint8_t)value;
	else if (trace_array_is_top(tr)) /* others ask their option for each record */
		function_args = (uint32_t)value;
	if (current)
		err = ftrace_register_ops(tr, &function_ops);
	return err;
}

static const struct tracer_option function_options[] = {
	{"func-args", 0}, {"func_stack_trace", 0}, {"func-no-repeats", 0}, {NULL, 0}};

static const struct tracer function_tracer = {
	.name = "function",
	.init = function_init,
	.reset = function_reset,
	.set_option = function_set_option,
	.options = function_options,
	.record_kinds = 1u << RECORD_FUNCTION | 1u << RECORD_FUNCTION_ARGS | 1u << RECORD_EVENT,
};
TRACER_REGISTER(function_tracer);
