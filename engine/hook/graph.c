/* SPDX-License-Identifier: MIT */
/*
 * See graph.h: which stub serves which function, which variants of the entry points are current,
 * what the graph's filters say. A stub that is given back may serve another function; one that was
 * never taken leads nowhere. Constructor or agent context, but for graph_silent_exit().
 * Tests: tests/engine/graph.
 */
#include "engine/hook/graph.h"

#include <errno.h>

#include "arch_barrier.h"
#include "arch_regs.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/clock.h"
#include "engine/hook/entry.h"
#include "engine/hook/graph_libunwind.h"
#include "engine/hook/graph_stack.h"
#include "engine/ring/ring_write.h"

struct graph_target graph_table[GRAPH_STUBS];
uint8_t graph_flags[GRAPH_STUBS];

/* What graph.S jumps through and compares with. */
void (*graph_enter_to)(void) = graph_enter_xadd_lsl;
void (*graph_exit_to)(void) = graph_exit_off;
uint32_t graph_roots;
uint64_t graph_thresh;

static uint32_t nr_taken; /* stubs below were taken once */
static uint32_t nr_free;
static uint32_t next_free[GRAPH_STUBS]; /* of those given back, a list by index + 1 */
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

void graph_choose_entry(int rseq, int tsc, int stamps)
{
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
	graph_table[i] = (struct graph_target){
		.body = body,
		.word = (uint64_t)RECORD_ENTRY << RECORD_KIND_SHIFT | (uint64_t)id
									      << RECORD_ID_SHIFT,
	};
	/* filters may have been set before the tracer, at which stubs are taken */
	store_relaxed(&graph_flags[i], filters_of(id));
	return (int)i;
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

/* The filters of each function that has a stub, and whether any variant but the plain one is due. */
static int read_filters(void)
{
	uint32_t i;

	graph_roots = 0;
	for (i = 0; i < nr_taken; i++)
		store_relaxed(&graph_flags[i], filters_of(record_word_id(graph_table[i].word)));
	store_relaxed(&graph_roots, graph_function.count);
	store_relaxed(&graph_thresh, clock_from_ns(tracing_thresh_ns));
	return graph_roots || graph_notrace.count || graph_max_depth || graph_thresh;
}

int graph_prepare(enum record_kind kind)
{
	int filtered;

	if (kind != RECORD_ENTRY)
		return 0;
	if (graph_stacks_start())
		return -ENOMEM;
	if (graph_stacks_probe()) {
		area_status(
			"no function_graph: the addresses of its shadow are taken, as they are by "
			"-fsanitize=thread",
			NULL, 0);
		return -ENODEV;
	}
	graph_libunwind_meet();
	graph_stacks_active(1);
	filtered = read_filters();
	store_release(&graph_enter_to, variant->enter[filtered]);
	store_release(&graph_exit_to, variant->exit[filtered]);
	return 0;
}

void graph_finish(enum record_kind kind)
{
	if (kind != RECORD_ENTRY)
		return;
	store_release(&graph_exit_to, graph_exit_off);
	graph_stacks_active(0);
	graph_stacks_tell();
}

/*
 * A call without an entry record returns: the end of what set_graph_notrace hides, or a call that
 * tracing_thresh may want. Called by graph.S, in any context. @slot: S, on @s. @stub: what it holds.
 */
void graph_silent_exit(uint64_t slot, uint64_t stub, struct graph_stack *s);

void graph_silent_exit(uint64_t slot, uint64_t stub, struct graph_stack *s)
{
	uint64_t word, took;
	struct ring_slot r;

	if (s->hidden == slot) {
		s->hidden = 0;
		return;
	}
	if (s->depth)
		s->depth--;
	if (s->root == slot)
		s->root = 0;
	took = ring_clock() - graph_shadow(slot)->stamp;
	if (!graph_thresh || took < graph_thresh || took >> RECORD_RETURN_DEPTH_SHIFT)
		return;
	word = graph_table[(stub - (uint64_t)graph_stubs) / GRAPH_STUB_BYTES].word;
	if (!ring_reserve(ring_top, &r, RECORD_RETURN_BYTES))
		return;
	r.words[1] = took | (uint64_t)s->depth << RECORD_RETURN_DEPTH_SHIFT;
	ring_commit(&r, RECORD_RETURN, record_word_id(word));
}
