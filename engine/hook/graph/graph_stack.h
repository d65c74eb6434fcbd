/* SPDX-License-Identifier: MIT */
/*
 * The stack on which a thread runs, and the wrapped calls that are open on it. The fast paths in
 * graph.S compare a call with the thread's current stack. If that does not fit, they search the
 * stacks that the thread ran on lately. If none fits (a new stack, unwound calls, no shadow yet),
 * they call this file.
 *
 * The bounds of a stack are known for threads made by pthread_create(), for the main thread, and
 * for stacks of makecontext() and sigaltstack(). Any other stack is learned: its top is the first
 * slot seen; its lower end moves down with the calls, at most to the end of its mapping or to the
 * next stack.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_STACK_H
#define VESTIGE_HOOK_GRAPH_GRAPH_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/ring/ring.h"

/*
 * A stack. All its state is here, whichever thread runs on it, so another thread may resume a
 * coroutine. graph.S reads and writes it; offsets.h has the offsets.
 */
struct graph_stack {
	uint64_t open;	 /* slot of the innermost open call; `top`: there is none */
	uint64_t lo;	 /* lowest address known to be in use; above it there is a shadow */
	uint64_t top;	 /* end of the stack; 0: a free row */
	uint64_t word;	 /* head word of its RECORD_STACK, stamp 0; no other stack has the same */
	uint64_t root;	 /* slot of the open call of a set_graph_function; 0: none */
	uint64_t hidden; /* slot of the open call of a set_graph_notrace; 0: none */
	uint32_t depth;	 /* open calls with an entry record, as far as filters use it */
	uint32_t level; /* of graph_rows.c: how the row is found; in a free row the next free one */
	uint64_t shadow; /* a slot's struct graph_shadow is at this + 4 * slot */
	uint64_t floor;	 /* lower end; 0: learned, so not known */
	/* value of graph_filters when depth, root and hidden were last computed */
	uint32_t filters;
	uint32_t is_thread;  /* pthread_create() gave it to a thread, or it is the main thread's */
	uint64_t doubt_lo;   /* of graph_learn.c: `lo` before the row was doubted; 0: it was not */
	uint64_t is_crowded; /* calls below it were left out, as it was unclear whose they are */
	uint64_t profiled;   /* stamp of the last begin or end of a profiled call on it; 0: none */
	/* calls on it whose exits were not recorded, for each ring, and no record says so yet */
	uint32_t skipped[RING_MAX];
} __attribute__((aligned(64)));

/*
 * graph_take_skipped() - take the count of ring @index, to report it; it is to be added again if
 * there is no room. A handler that comes in between may skip exits of its own. Any context.
 */
static inline uint32_t graph_take_skipped(struct graph_stack *s, uint32_t index)
{
	uint32_t n = load_relaxed(&s->skipped[index]);

	if (unlikely(n))
		s->skipped[index] -= n;
	barrier();
	return n;
}

#define GRAPH_RECENT 32u

/* The calling thread's data. */
struct graph_tls {
	/* the current stack; while the slow path runs a stack that fits no slot */
	struct graph_stack *current;
	uint64_t word; /* RECORD_STACK word of the thread's last record */
	/* stacks that the thread ran on lately, by graph_recent() */
	struct graph_stack *recent[GRAPH_RECENT];
	uint32_t busy;		  /* it is in the slow path, or may never leave it */
	uint32_t switched;	  /* the thread has run on several stacks */
	struct graph_stack *last; /* while `current` is no stack: the stack before */
	uint64_t busy_at;	  /* slot for which it is in the slow path */
	uint32_t turn;		  /* how often the slow path was taken */
	uint32_t forbidden;
	/* stack that the thread was given; own_word tells whether the row is still that stack's */
	struct graph_stack *own;
	uint64_t own_word;
	struct graph_stack *alt; /* stack of sigaltstack(); alt_word: as own_word */
	uint64_t alt_word;
	uint64_t thread_top, thread_bytes; /* bounds of the thread's stack; 0: not known */
};

/* Index in graph_tls.recent for a slot. graph.S computes the same. */
static inline uint32_t graph_recent(uint64_t slot)
{
	return (uint32_t)(hash_u64(slot >> 12) >> 59);
}

extern __thread struct graph_tls graph_tls __attribute__((tls_model("initial-exec")));

/* The step for which the fast path found no stack. */
enum graph_step { GRAPH_ENTER = 0, GRAPH_EXIT = 1 };

/*
 * graph_stack_slow() - make graph_tls fit for the call whose return address is at @slot. @fp: the
 * caller's frame pointer. @stub: an address within the called function's stub; 0: an exit. Called
 * by the hooks at any instruction: no lock, no libc; mmap() for a new stack. Return: 1: it fits; 0:
 * do not wrap this call; it has been counted. For an exit it is always 1.
 */
int graph_stack_slow(uint64_t slot, enum graph_step step, uint64_t fp, uint64_t stub);

/* After a change of page: the stack must be named in the new page. Any context. */
void graph_stack_note(void);

/*
 * graph_stack_count() - the filters have changed while calls are open: compute the filters' state
 * of the calling thread's stack @s from its open calls. Any context.
 */
void graph_stack_count(struct graph_stack *s);

/*
 * graph_stack_drop() - calls of the stack around @sp whose slots are below @sp were unwound. An
 * unknown stack is left alone. Any context.
 */
void graph_stack_drop(uint64_t sp);

/* Map the tables, before the first wrapped call. Normal context. Return: 0 or -ENOMEM. */
int graph_stacks_start(void);

/*
 * graph_stacks_probe() - whether the calling thread's stack can have a shadow. Normal context.
 * Return: 0; -EEXIST: other memory is at its addresses; -ENOMEM.
 */
int graph_stacks_probe(void);

/* Report in vestige_status why calls were not wrapped, if there were any. Normal context. */
void graph_stacks_report(void);

/* Whether calls are wrapped: if so, threads that start get their shadow in advance. */
void graph_stacks_active(int on);

/* A stack's bounds are known: @bytes from @lo on. Normal context. */
void graph_stack_known(uint64_t lo, uint64_t bytes);

/* The calling thread has this signal stack from now on; @bytes: 0: none. Normal context. */
void graph_stack_signals(uint64_t lo, uint64_t bytes);

/* The calling thread begins on a stack of @bytes that ends near @top; it has no open calls. */
void graph_thread_start(uint64_t top, uint64_t bytes);

/*
 * The calling thread gives up system calls: map the shadow of all of its stack that it may use.
 * Normal context.
 */
void graph_thread_ahead(void);

/*
 * The same for stacks that are made later, on which a thread without system calls may run. Normal
 * context.
 */
void graph_stacks_ahead(void);

/*
 * The calling thread shares its thread-local memory with another one from now on: its calls are not
 * wrapped.
 */
void graph_thread_forbid(void);

/*
 * graph_thread_left() - calls that are open on the thread's own stack will not return, since the
 * thread ends by pthread_exit(), or the process by exit(): end them now as unwound calls. Normal
 * context.
 */
void graph_thread_left(void);

/* The calling thread ends: another thread may get its stack. */
void graph_thread_end(void);

#endif
