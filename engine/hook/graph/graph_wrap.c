/* SPDX-License-Identifier: MIT */
/*
 * See graph_wrap.h. It does the steps of graph.S's `multi` variants in C: the call is silent,
 * and its shadow says that a return probe wants its end. So any current exit variant finds it, and
 * unwinders read its return address as of any wrapped call. The order is also graph.S's: the
 * shadow, the slot, then `open`, so a handler finds a complete chain at each instruction.
 *
 * Ids begin at GRAPH_WRAP_ID; the rest of an id is the stub's index. No state but the stubs'. fork:
 * as for all wrapped calls. Costs: bench unmodified. Tests: tests/cli/test_libcall.py.
 */
#include "engine/hook/graph/graph_wrap.h"

#include "arch_barrier.h"
#include "engine/core/ops.h"
#include "engine/hook/graph/graph.h"
#include "engine/hook/graph/graph_calls.h"
#include "engine/hook/graph/graph_notrace.h"
#include "engine/hook/graph/graph_stack.h"

_Static_assert(GRAPH_WRAP_ID + GRAPH_STUBS <= UINT32_C(1) << GRAPH_TAIL_ID_BITS,
	       "ids fit where ids of tail calls are kept");

static uint32_t take(void)
{
	int stub = graph_stub_take(0, 0);

	if (stub < 0)
		return 0;
	graph_stub_set_id((uint32_t)stub, GRAPH_WRAP_ID + (uint32_t)stub);
	return GRAPH_WRAP_ID + (uint32_t)stub;
}

static void give(uint32_t id)
{
	graph_stub_give(id - GRAPH_WRAP_ID);
}

/* The stack of the slot, if the slot can be the next open call on it; NULL: it cannot. */
static struct graph_stack *fitting(uint64_t slot, uint64_t fp, uint64_t stub)
{
	struct graph_stack *s;

	for (;;) {
		s = graph_tls.current;
		if (slot < s->open && slot >= s->lo &&
		    (s->open == s->top || graph_is_stub(*(const uint64_t *)s->open)))
			break;
		if (!graph_stack_slow(slot, GRAPH_ENTER, fp, stub))
			return NULL;
	}
	if (s->filters != load_relaxed(&graph_filters))
		graph_stack_count(s);
	return s;
}

static void wrap_on(struct graph_stack *s, uint64_t slot, uint64_t stub)
{
	struct graph_shadow *shadow = graph_shadow(slot);

	s->depth++;
	shadow->return_address = *(const uint64_t *)slot;
	shadow->calls = GRAPH_PROBED;
	shadow->link = s->open | GRAPH_SILENT;
	barrier();
	*(volatile uint64_t *)slot = stub + GRAPH_RETURN;
	barrier();
	store_relaxed(&s->open, slot);
}

/* A tail call: its return address is a stub's already, which can serve only one return. */
static int join_tail(uint64_t slot, uint64_t fp, uint64_t stub)
{
	while (graph_tls.current->open != slot)
		if (!graph_stack_slow(slot, GRAPH_EXIT, fp, stub))
			return 1; /* it is counted */
	return graph_calls_tail_probed(slot, graph_stub_function(stub));
}

static void wrap(const struct text_frame *frame, uint32_t id)
{
	uint64_t slot = text_frame_sp(frame), fp = frame->regs.saved[ARCH_BP];
	uint64_t stub = graph_stub_address(id - GRAPH_WRAP_ID);
	struct graph_stack *s;

	if (!load_acquire(&graph_multi)) {
		ops_call_missed(id);
	} else if (graph_is_stub(*(const uint64_t *)slot)) {
		if (!join_tail(slot, fp, stub))
			ops_call_missed(id);
	} else {
		s = fitting(slot, fp, stub);
		if (s)
			wrap_on(s, slot, stub);
	}
}

const struct text_wrap_hook graph_wrap_hook = {
	.may_wrap = graph_notrace_may_wrap,
	.take = take,
	.give = give,
	.wrap = wrap,
};
