/* SPDX-License-Identifier: MIT */
/*
 * The initcall tracer: a line when an initialiser (constructor) of the program or of a shared
 * object is called, and one with its duration when it has returned; the same for destructors at the
 * end. Initialisers return nothing, so the result is shown as 0. Texts are from the kernel's
 * initcall_debug and its first initcall tracer. In the top instance alone. fork: the child goes on.
 * Tests: tests/engine/tracers/initcall.
 */
#include "engine/arch/sys.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/initcall.h"

struct call_record {
	uint64_t head, function;
	int32_t caller, padding;
};

struct ret_record {
	uint64_t head, function, duration;
	int32_t result, padding;
};

static void note_call(const struct initcall *c)
{
	struct ring_slot slot;
	struct call_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct call_record *)slot.words;
	r->function = c->function;
	r->caller = sys_own_tid();
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_BOOT_CALL, sizeof(*r)));
}

static void note_ret(const struct initcall *c)
{
	struct ring_slot slot;
	struct ret_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct ret_record *)slot.words;
	r->function = c->function;
	r->duration = c->ns;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_BOOT_RET, sizeof(*r)));
}

static void note(const struct initcall *c)
{
	if (c->done)
		note_ret(c);
	else
		note_call(c);
}

static struct initcall_listener listener = {.call = note};

static int initcall_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_BOOT_CALL);

	(void)tr;
	if (!err)
		err = ftrace_format_text(FTRACE_BOOT_RET);
	return err ? err : source_listen(&initcalls, &listener.link);
}

static void initcall_reset(struct trace_array *tr)
{
	(void)tr;
	source_ignore(&initcalls, &listener.link);
}

static const struct tracer initcall_tracer = {
	.name = "initcall",
	.init = initcall_init,
	.reset = initcall_reset,
};
TRACER_REGISTER(initcall_tracer);
