/* SPDX-License-Identifier: MIT */
/*
 * stack:stack_left: how much of its stack a thread has left at a function's entry. A filter (`left
 * < 4096`) selects entries before a record is made.
 *
 * The stack tracer measures (core/stack_tracer.h). Any context. fork: the child goes on. Costs: a
 * callback at each entry, and the filter. Tests: tests/engine/events/stack, tests/cli/test_kft.py.
 */
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/core/stack_tracer.h"
#include "engine/events/builtin_event.h"

struct stack_left {
	struct builtin_record head;
	uint64_t ip, parent_ip, left, depth;
};

static const struct vestige_event_field fields[] = {
	BUILTIN_FIELD(struct stack_left, ip, "unsigned long", 0),
	BUILTIN_FIELD(struct stack_left, parent_ip, "unsigned long", 0),
	BUILTIN_FIELD(struct stack_left, left, "unsigned long", 0),
	BUILTIN_FIELD(struct stack_left, depth, "unsigned long", 0),
	BUILTIN_FIELDS_END,
};

static int enable(struct builtin_event *e, int on);

static struct builtin_event row = {
	.system = "stack",
	.name = "stack_left",
	.fields = fields,
	.print_fmt = "\"%ps <-%ps left=%lu depth=%lu\", (void *)REC->ip, (void *)REC->parent_ip, "
		     "REC->left, REC->depth",
	.enable = enable,
};

static void note(uint64_t ip, uint64_t parent_ip, uint64_t depth, uint64_t left)
{
	struct stack_left r = {.ip = ip, .parent_ip = parent_ip, .left = left, .depth = depth};

	builtin_event_write(&row, &r, sizeof(r));
}

static int enable(struct builtin_event *e, int on)
{
	(void)e;
	return stack_tracer_listen(on ? note : NULL);
}

static void start(const struct lifecycle_start *how)
{
	(void)how;
	builtin_events_add(&row, 1);
}

LIFECYCLE(LIFECYCLE_SYSTEM, start, NULL, NULL);
