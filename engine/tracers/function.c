/* SPDX-License-Identifier: MIT */
/*
 * The function tracer: which function was called, and from where. Each call of a function that the
 * filters leave makes one RECORD_FUNCTION; the hook writes it, so this file has no hot path.
 * Costs: bench "function tracer". Tests: tests/engine/test_calls.py.
 */
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

static const struct tracer function_tracer = {
	.name = "function",
	.init = function_init,
	.reset = function_reset,
	.record_kinds = 1u << RECORD_FUNCTION,
};
TRACER_REGISTER(function_tracer);
