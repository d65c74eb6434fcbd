/* SPDX-License-Identifier: MIT */
/*
 * See graph.h: the stub of each function, the current variants of the entry points, and the graph's
 * filters. A stub that is given back may be used for another function. A stub that was never taken
 * has no target. Constructor or agent context, except graph_silent_exit(). Tests:
 * tests/engine/graph.
 */
#include "engine/hook/graph/graph.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/core/ops.h"
#include "engine/process/clock.h"
#include "engine/hook/port.h"
#include "engine/hook/graph/graph_calls.h"
#include "engine/hook/graph/graph_copiers.h"
#include "engine/hook/graph/graph_libunwind.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/ring/ring_write.h"

struct graph_target graph_table[GRAPH_STUBS] BIG_ZEROS;
uint8_t graph_flags[GRAPH_STUBS] BIG_ZEROS;

/* Pointers and values that graph.S reads. */
void (*graph_enter_to)(void) = graph_enter_xadd_lsl;
void (*graph_exit_to)(void) = graph_exit_off;
uint32_t graph_roots;
uint64_t graph_thresh;
uint32_t graph_filters;

static uint32_t nr_taken; /* stubs below it have been taken once */
static uint32_t nr_free;
/* the list of stubs that were given back, by index + 1 */
static uint32_t next_free[GRAPH_STUBS] BIG_ZEROS;
static uint32_t first_free;

#define VARIANT(way)                                                                               \
	{                                                                                          \
		{graph_enter_##way, graph_enter_filtered_##way},                                   \
		{                                                                                  \
			graph_exit_##way, graph_exit_filtered_##way                                \
		}                                                                                  \
	}

static const struct variant {
	void (*enter[2])(void); /* plain, filtered */
	void (*exit[2])(void);
} variants[] = {VARIANT(rseq), VARIANT(xadd_rdpid), VARIANT(xadd_lsl),
		VARIANT(mono), VARIANT(none_rseq),  VARIANT(none_xadd)};
static const struct variant *variant = &variants[2];
static void (*multi_enter)(void) = graph_enter_multi_mono;
/* whether the top instance makes a graph, and whether other instances do */
static int top_on, was_multi;

void graph_choose_entry(int rseq, int tsc, int stamps)
{
	multi_enter = tsc ? graph_enter_multi : graph_enter_multi_mono;
	if (!stamps)
		variant = &variants[rseq ? 4 : 5];
	else
		variant = &variants[!tsc ? 3 : rseq ? 0 : arch_has_rdpid() ? 1 : 2];
}

static uint8_t filters_of(uint32_t id)
{
	return (uint8_t)((function_set_has(&graph_function, id) ? GRAPH_ROOT : 0) |
			 (function_set_has(&graph_notrace, id) ? GRAPH_NOTRACE : 0));
}

int graph_stub_take(uint64_t body, uint32_t id)
{
	uint32_t i;

	if (first_free) {
		i = first_free - 1;
		first_free = next_free[i];
		nr_free--;
	} else if (nr_taken < GRAPH_STUBS) {
		i = nr_taken++;
	} else {
		return -ENOSPC;
	}
	graph_table[i].body = body;
	graph_stub_set_id(i, id);
	return (int)i;
}

void graph_stub_set_id(uint32_t stub, uint32_t id)
{
	uint64_t words = (uint64_t)id << RECORD_ID_SHIFT;

	graph_table[stub].word = (uint64_t)RECORD_ENTRY << RECORD_KIND_SHIFT | words;
	graph_table[stub].exit = (uint64_t)RECORD_EXIT << RECORD_KIND_SHIFT | words;
	/* filters may have been set before the tracer started, which takes the stubs */
	store_relaxed(&graph_flags[stub], filters_of(id));
}

uint64_t graph_stub_address(uint32_t stub)
{
	return (uint64_t)graph_stubs + (uint64_t)stub * GRAPH_STUB_BYTES;
}

void graph_stub_give(uint32_t stub)
{
	graph_flags[stub] = 0;
	next_free[stub] = first_free;
	first_free = stub + 1;
	nr_free++;
}

/*
 * Read the filters of each function that has a stub. Return: whether the plain variant is not
 * enough.
 */
static int read_filters(void)
{
	uint32_t i;

	graph_roots = 0;
	for (i = 0; i < nr_taken; i++)
		store_relaxed(&graph_flags[i], filters_of(record_word_id(graph_table[i].word)));
	store_relaxed(&graph_roots, graph_function.count);
	store_relaxed(&graph_thresh, clock_from_ns(tracing_thresh_ns));
	fetch_add(&graph_filters, 1);
	return graph_roots || graph_notrace.count || graph_max_depth || graph_thresh ||
	       graph_args || graph_retval;
}

/* Set up the shadow of stacks. */
static int have_stacks(void)
{
	int err = graph_stacks_start() ? -ENOMEM : graph_stacks_probe();

	if (err != -EEXIST)
		return err;
	area_status("no function_graph: the addresses of its shadow are taken, as they are by "
		    "-fsanitize=thread",
		    NULL, 0);
	return -ENODEV;
}

/*
 * Choose the variants of the entry points. Readers remember the stack of a thread's last record. So
 * after a change from one to several instances, or back, the next record must name its stack again:
 * ring_invalidate().
 */
static int choose(int top, int multi)
{
	int filtered = 0, err;

	if (top || multi) {
		graph_look_at_shadow_stacks();
		/* instances that made a graph before it was refused keep it, without calls */
		if (graph_is_refused() && ((top && !top_on) || (multi && !was_multi))) {
			graph_report_refused("no function_graph");
			return -ENODEV;
		}
		err = have_stacks();
		if (err)
			return err;
		filtered = read_filters();
	}
	if (top || multi)
		graph_libunwind_meet();
	/*
	 * for threads that can no longer map memory themselves; the agent does not do it for
	 * threads that can
	 */
	if ((top || multi) && load_relaxed(&sys_nr_forbidden))
		graph_stacks_ahead();
	graph_stacks_active(top || multi);
	if (multi)
		store_release(&graph_multi, 1);
	if (top || multi)
		store_release(&graph_enter_to, multi ? multi_enter : variant->enter[filtered]);
	store_release(&graph_exit_to, top     ? variant->exit[filtered]
				      : multi ? graph_exit_multi
					      : graph_exit_off);
	if (multi != was_multi)
		ring_invalidate();
	store_release(&graph_multi, (uint32_t)multi);
	was_multi = multi;
	top_on = top;
	return 0;
}

int graph_settle(void)
{
	int top = ftrace_top_graph(), multi = ops_any_graph();

	return top == top_on && !multi && !was_multi ? 0 : choose(top, multi);
}

int graph_prepare(enum record_kind kind)
{
	return kind == RECORD_ENTRY ? choose(ftrace_top_graph(), ops_any_graph()) : 0;
}

void graph_finish(enum record_kind kind)
{
	if (kind != RECORD_ENTRY)
		return;
	choose(ftrace_top_graph(), ops_any_graph());
	graph_stacks_report();
}

/*
 * A call without a plain entry record returns: several instances know it, set_graph_notrace hid it,
 * or tracing_thresh may want it. Called by graph.S, in any context. @slot: the address of the
 * return address, on stack @s. @stub: what the slot holds. @value: the call's result.
 */
void graph_silent_exit(uint64_t slot, uint64_t stub, struct graph_stack *s, uint64_t value);

void graph_silent_exit(uint64_t slot, uint64_t stub, struct graph_stack *s, uint64_t value)
{
	const struct graph_shadow *shadow = graph_shadow(slot);
	const struct graph_target *target;
	uint64_t took, payload;
	struct ring_slot r;
	uint32_t id, levels;

	if (s->hidden == slot) {
		s->hidden = 0;
		if (!graph_is_recorded(shadow))
			return;
	}
	levels = 1 + graph_tails(shadow);
	s->depth = s->depth > levels ? s->depth - levels : 0;
	if (s->root == slot)
		s->root = 0;
	target = &graph_table[(stub - (uint64_t)graph_stubs) / GRAPH_STUB_BYTES];
	id = record_word_id(target->word);
	if (shadow->calls) {
		graph_calls_probed(slot, id, value, shadow->return_address);
		graph_calls_exit(slot, id, s, value, top_on);
		return;
	}
	took = ring_clock() - shadow->stamp;
	if (!graph_thresh || took < graph_thresh || took >> RECORD_RETURN_DEPTH_SHIFT)
		return;
	payload = took | (uint64_t)s->depth << RECORD_RETURN_DEPTH_SHIFT;
	if (load_relaxed(&graph_multi)) {
		graph_calls_return(id, payload);
	} else if (ring_reserve_call(ring_top, &r, RECORD_RETURN_BYTES)) {
		r.words[1] = payload;
		ring_commit(&r, RECORD_RETURN, id);
	}
}
