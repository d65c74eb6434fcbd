/* SPDX-License-Identifier: MIT */
/*
 * The tracer that traces nothing: events alone reach the buffer. Its two options are the kernel's, for
 * who tries how a tracer takes and refuses one.
 */
#include <errno.h>
#include <stddef.h>

#include "engine/core/tracer.h"

static int nop_set_option(struct trace_array *tr, const char *name, int value)
{
	(void)tr;
	(void)value;
	return tracer_option_is(name, "test_nop_refuse") ? -EINVAL : 0;
}

static const struct tracer_option nop_options[] = {
	{"test_nop_accept", 0},
	{"test_nop_refuse", 0},
	{NULL, 0},
};

static const struct tracer nop_tracer = {
	.name = "nop",
	.set_option = nop_set_option,
	.options = nop_options,
};
TRACER_REGISTER(nop_tracer);
