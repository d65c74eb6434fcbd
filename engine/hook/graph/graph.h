/* SPDX-License-Identifier: MIT */
/*
 * Wrapped calls: function_graph sees a function return, and the program sees no difference.
 *
 * The site jumps to a stub of the function's own, static code of this library:
 *
 *	call graph_enter	records the entry, then jumps to the function's body
 *	(stack as at entry)	where the body returns to: GRAPH_RETURN bytes from the stub's beginning
 *	jump to graph_exit	records the exit, returns to the real caller
 *	jump to the body	a tail call, or a call that is left unwrapped
 *
 * Let S be the address of the slot that holds the call's return address. graph_enter moves what it
 * holds into the shadow of S, puts the stub's address there, and the body returns to the stub. The
 * shadow is keyed by S, so it needs no discipline from the program: whatever frames it throws away,
 * each one that returns finds its own. Every call meets its ret, so the processor's return
 * predictor stays right. The stub's unwind rows read the shadow; no other unwinder data is made.
 *
 * struct graph_shadow of S lies at ((S mod 2^43) * 4) + GRAPH_SHADOW, memory that is mapped when a
 * stack is first seen there. `link` chains the open calls of a stack, innermost first, so that an
 * entry notices which frames have vanished.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_H
#define VESTIGE_HOOK_GRAPH_GRAPH_H

#include <stdint.h>

#include "engine/core/function.h"

#define GRAPH_STUBS	 65536u
#define GRAPH_STUB_BYTES 32u
#define GRAPH_RETURN	 5u /* of a stub, where the body returns to */

/*
 * Free in every layout of a 47-bit address space that Linux uses; the odd end spreads cache sets.
 */
#define GRAPH_SHADOW UINT64_C(0x200000035240)

struct graph_shadow {
	uint64_t return_address;
	uint64_t link;	/* the next outer open slot, and in its bits from 48 on: GRAPH_SILENT .. */
	uint64_t stamp; /* of the entry, where tracing_thresh wants it */
	uint64_t calls; /* of a silent call: which instances have its entry, see graph_calls.h */
};

/* The call has no entry record, or the ones that `calls` names. */
#define GRAPH_SILENT (UINT64_C(1) << 63)

/*
 * How many calls took this one's place (tail calls): each is a level deeper than the one before.
 * No more are counted than these bits hold.
 */
#define GRAPH_TAILS_SHIFT 48
#define GRAPH_TAILS_MASK  UINT64_C(0x7fff)

static inline uint64_t graph_link(const struct graph_shadow *shadow)
{
	return shadow->link & ((UINT64_C(1) << GRAPH_TAILS_SHIFT) - 1);
}

static inline uint32_t graph_tails(const struct graph_shadow *shadow)
{
	return (uint32_t)(shadow->link >> GRAPH_TAILS_SHIFT & GRAPH_TAILS_MASK);
}

/* Whether the call has an entry record, in whichever instance. */
static inline int graph_is_recorded(const struct graph_shadow *shadow)
{
	return !(shadow->link & GRAPH_SILENT) || shadow->calls;
}

static inline struct graph_shadow *graph_shadow(uint64_t slot)
{
	return (struct graph_shadow *)((slot << 21 >> 19) + GRAPH_SHADOW);
}

/* The data of a stub. graph.S addresses it from the stub: both have the same stride. */
struct graph_target {
	uint64_t body; /* the function, behind its site */
	uint64_t word; /* the head word of its RECORD_ENTRY, stamp 0 */
	uint64_t exit; /* and of its RECORD_EXIT */
	uint64_t unused;
};

extern struct graph_target graph_table[GRAPH_STUBS];
extern uint8_t graph_flags[GRAPH_STUBS]; /* enum graph_flag of the stub's function */
extern const uint8_t graph_stubs[];
extern uint32_t graph_roots;   /* whether there is a set_graph_function */
extern uint32_t graph_filters; /* how often the filters have changed */

enum graph_flag {
	GRAPH_ROOT = 1,	   /* in set_graph_function */
	GRAPH_NOTRACE = 2, /* in set_graph_notrace */
};

/* Whether an address lies in the stubs: a return address that is not the caller's. */
static inline int graph_is_stub(uint64_t addr)
{
	return addr - (uint64_t)graph_stubs < (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES;
}

/* The function of a stub. @stub: its address, or one behind it by less than a stub. Any context. */
static inline uint32_t graph_stub_function(uint64_t stub)
{
	return (uint32_t)record_word_id(
		graph_table[(stub - (uint64_t)graph_stubs) / GRAPH_STUB_BYTES].word);
}

/*
 * graph_stub_take() - a stub for a function that has none.
 * @body: where its text goes on behind the site. @id: the function.
 * Return: the stub's index or -ENOSPC. Constructor or agent context.
 */
int graph_stub_take(uint64_t body, uint32_t id);
uint64_t graph_stub_address(uint32_t stub);

/* The id of a stub that was taken before its id was known, and that no call has yet. */
void graph_stub_set_id(uint32_t stub, uint32_t id);

/* The function's object is gone; the stub may serve another. */
void graph_stub_give(uint32_t stub);

/*
 * Choose the variants of the entry points: @rseq and @tsc as the process has them, @stamps as
 * trace_clock says. While nothing is armed.
 */
void graph_choose_entry(int rseq, int tsc, int stamps);

/* struct hook's prepare and finish: calls that are wrapped from now on are recorded, or just
 * return. */
int graph_prepare(enum record_kind kind);
void graph_finish(enum record_kind kind);

/* struct hook's settle: whether the top instance or others make a graph has changed. */
int graph_settle(void);

#endif
