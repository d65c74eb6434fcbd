/* SPDX-License-Identifier: MIT */
/*
 * The graph while several instances make one, or an instance other than the top one does: each
 * record is written in C, into the ring of each instance that wants the function. graph.S's `multi`
 * variants call this file, and graph_stack.c calls it for unwound calls.
 *
 * graph_shadow.calls of such a call has a bit for each instance that has a RECORD_ENTRY of it, so
 * that exactly these get its exit record; bits 0.. by the ring's index. If a tail call replaces
 * this call, an instance that wants the new function, but not this one, has an entry record of the
 * new function instead (bits GRAPH_TAIL_SHIFT.., the function's id from GRAPH_TAIL_ID_SHIFT on),
 * and its exit at the same time.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_CALLS_H
#define VESTIGE_HOOK_GRAPH_GRAPH_CALLS_H

#include <stdint.h>

#include "engine/hook/graph/graph_stack.h"
#include "engine/ring/ring.h"

#define GRAPH_CALLS_MASK    ((UINT64_C(1) << RING_MAX) - 1)
#define GRAPH_TAIL_SHIFT    RING_MAX
#define GRAPH_TAIL_ID_SHIFT (2 * RING_MAX)
/* A return probe wants the end of the call; the second bit: of the tail call whose id is there. */
#define GRAPH_PROBED	  (UINT64_C(1) << 63)
#define GRAPH_TAIL_PROBED (UINT64_C(1) << 62)
/* The call is profiled, and its stamp is the time of its entry. */
#define GRAPH_PROFILED	   (UINT64_C(1) << 61)
#define GRAPH_TAIL_ID_BITS 27 /* enough for all ids of the table of functions */

static inline uint32_t graph_tail_id(uint64_t calls)
{
	return (uint32_t)(calls >> GRAPH_TAIL_ID_SHIFT) & ((1u << GRAPH_TAIL_ID_BITS) - 1);
}
_Static_assert(GRAPH_TAIL_ID_SHIFT + GRAPH_TAIL_ID_BITS <= 61, "room for GRAPH_PROFILED");

/* Whether calls are wrapped by the `multi` variants now. */
extern uint32_t graph_multi;

struct arch_args;

/*
 * Called by graph.S. @word: the head word of the function's RECORD_ENTRY. @slot: the call's slot,
 * on stack @s. @args: the registers of the call, for instances with funcgraph-args and return
 * probes. graph_enter_all() returns 0 if no instance wants the call; then the call is not wrapped.
 * Any context.
 */
uint32_t graph_enter_all(uint64_t word, uint64_t slot, struct graph_stack *s,
			 const struct arch_args *args);
void graph_tail_all(uint64_t word, uint64_t slot, struct graph_stack *s,
		    const struct arch_args *args);

/*
 * A return probe wants the end of a call of @id that has replaced the open call at @slot. Return:
 * 0: its end cannot be seen.
 */
int graph_calls_tail_probed(uint64_t slot, uint32_t id);

/* That call returns with @retval to @ip: call the return probes that want it. */
void graph_calls_probed(uint64_t slot, uint32_t id, uint64_t retval, uint64_t ip);

/*
 * A call that graph_enter_all() has registered returns. @id: its function. @value: its result, for
 * instances with funcgraph-retval. @top: the top instance's graph is on.
 */
void graph_calls_exit(uint64_t slot, uint32_t id, struct graph_stack *s, uint64_t value, int top);

/* Write a RECORD_RETURN with this payload for each user that wants the function. */
void graph_calls_return(uint32_t id, uint64_t payload);

/*
 * graph_calls_gone() - add an unwound call to the counts of the instances that have its entry
 * record.
 */
void graph_calls_gone(uint64_t slot, uint32_t gone[RING_MAX]);

/* The innermost open call of @s, at @slot, returns, and no ring gets a record. Any context. */
void graph_calls_skipped(uint64_t slot, struct graph_stack *s);

/* graph_calls_unwound() - write a RECORD_UNWOUND with its count for each instance. */
void graph_calls_unwound(struct graph_stack *s, const uint32_t gone[RING_MAX]);

/*
 * A call makes no record because a handler interrupted the engine itself: count it as
 * ring_count_nested() does.
 */
void graph_calls_count_nested(void);

/*
 * A call of function @id is not followed: count it as missed for the probes of its return. Any
 * context.
 */
void graph_calls_missed(uint32_t id);

#endif
