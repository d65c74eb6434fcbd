/* SPDX-License-Identifier: MIT */
/* See ftrace_formats.h. fork: the rows are copied (area_fork). Tests: tests/engine/fire/stacks. */
#include "engine/core/ftrace_formats.h"

static int (*ftrace_format_in_events)(enum ftrace_id id);

void ftrace_format_register(int (*describe)(enum ftrace_id id))
{
	ftrace_format_in_events = describe;
}

int ftrace_format_text(enum ftrace_id id)
{
	return ftrace_format_in_events(id);
}
