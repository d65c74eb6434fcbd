/* SPDX-License-Identifier: MIT */
/*
 * Wrapped calls: function_graph sees a function return, and the program notices nothing.
 *
 * The site jumps to the function's stub, which is static code of this library:
 *
 *	call graph_enter	records the entry, then jumps to the function's body
 *	(stack as at entry)	the body returns here: GRAPH_RETURN bytes into the stub
 *	jump to graph_exit	records the exit, returns to the real caller
 *	jump to the body	a tail call, or a call that is left unwrapped
 *
 * Let S be the address of the slot that holds the call's return address. graph_enter moves the
 * return address into the shadow of S and stores the stub's address in the slot, so that the body
 * returns to the stub. The shadow is found by S, so the program may drop frames as it likes: each
 * call that returns finds its own. Each call has its own ret, so the processor's return predictor
 * stays right. The stub's unwind rules read the shadow; unwinders need no other data.
 *
 * The struct graph_shadow of S is at ((S mod 2^43) * 4) + GRAPH_SHADOW, in memory that is mapped
 * when a stack is first seen there. `link` chains the open calls of a stack, innermost first, so
 * that an entry notices which calls were unwound.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_H
#define VESTIGE_HOOK_GRAPH_GRAPH_H

#include <stdint.h>

#include "engine/core/function.h"

#define GRAPH_STUBS	 65536u
#define GRAPH_STUB_BYTES 32u
#define GRAPH_RETURN	 5u /* offset in a stub to which the body returns */

/*
 * Unused in every layout of a 47-bit address space that Linux has; the odd low bits spread cache
 * sets.
 */
#define GRAPH_SHADOW UINT64_C(0x200000035240)

struct graph_shadow {
	uint64_t return_address;
	uint64_t link;	/* the next outer open slot; from bit 48 on flags: GRAPH_SILENT .. */
	uint64_t stamp; /* of the entry, if tracing_thresh or the profile needs it */
	/* of a silent call: which instances have its entry record, see graph_calls.h */
	uint64_t calls;
};

/* The call has no entry record, or only those that `calls` names. */
#define GRAPH_SILENT (UINT64_C(1) << 63)

/*
 * The number of tail calls that replaced this call: each is one level deeper than the one before.
 * The count stops at the greatest value of these bits.
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

/* Whether any instance has an entry record of the call. */
static inline int graph_is_recorded(const struct graph_shadow *shadow)
{
	return !(shadow->link & GRAPH_SILENT) || shadow->calls;
}

static inline struct graph_shadow *graph_shadow(uint64_t slot)
{
	return (struct graph_shadow *)((slot << 21 >> 19) + GRAPH_SHADOW);
}

/* The data of a stub. graph.S computes its address from the stub's: both have the same stride. */
struct graph_target {
	uint64_t body; /* address of the function behind its site */
	uint64_t word; /* head word of its RECORD_ENTRY, stamp 0 */
	uint64_t exit; /* head word of its RECORD_EXIT */
	uint64_t unused;
};

extern struct graph_target graph_table[GRAPH_STUBS];
extern uint8_t graph_flags[GRAPH_STUBS]; /* enum graph_flag of the stub's function */
extern const uint8_t graph_stubs[];
extern uint32_t graph_roots;   /* whether any function is in set_graph_function */
extern uint32_t graph_filters; /* how often the filters have changed */

enum graph_flag {
	GRAPH_ROOT = 1,	   /* in set_graph_function */
	GRAPH_NOTRACE = 2, /* in set_graph_notrace */
};

/* Whether an address is in the stubs, so that it is no caller's. */
static inline int graph_is_stub(uint64_t addr)
{
	return addr - (uint64_t)graph_stubs < (uint64_t)GRAPH_STUBS * GRAPH_STUB_BYTES;
}

/* The function of a stub. @stub: an address within the stub. Any context. */
static inline uint32_t graph_stub_function(uint64_t stub)
{
	return (uint32_t)record_word_id(
		graph_table[(stub - (uint64_t)graph_stubs) / GRAPH_STUB_BYTES].word);
}

/*
 * graph_stub_take() - take a stub for a function that has none. @body: address of the function's
 * code behind the site. @id: the function. Return: the stub's index or -ENOSPC. Constructor or
 * agent context.
 */
int graph_stub_take(uint64_t body, uint32_t id);
uint64_t graph_stub_address(uint32_t stub);

/* Set the id of a stub that was taken before its id was known, and that no call has yet. */
void graph_stub_set_id(uint32_t stub, uint32_t id);

/* Give a stub back when its function's object is unloaded; it may be used for another function. */
void graph_stub_give(uint32_t stub);

/*
 * Choose the variants of the entry points. @rseq, @tsc: whether the process has them. @stamps: from
 * trace_clock. While no site is armed.
 */
void graph_choose_entry(int rseq, int tsc, int stamps);

/*
 * prepare and finish of struct hook: calls that are wrapped from now on are recorded, or only
 * return.
 */
int graph_prepare(enum record_kind kind);
void graph_finish(enum record_kind kind);

/* settle of struct hook: whether the top instance or other instances make a graph has changed. */
int graph_settle(void);

#endif
