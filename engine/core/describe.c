/* SPDX-License-Identifier: MIT */
/* See describe.h. fork: the rows are copied (area_fork). Tests: tests/engine/fire/stacks. */
#include "engine/core/describe.h"

static int (*describe_in_events)(enum ftrace_id id);

void describe_register(int (*describe)(enum ftrace_id id))
{
	describe_in_events = describe;
}

int describe_ftrace(enum ftrace_id id)
{
	return describe_in_events(id);
}
