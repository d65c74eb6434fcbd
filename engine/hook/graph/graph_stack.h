/* SPDX-License-Identifier: MIT */
/*
 * The stack on which a thread runs, and the wrapped calls that are open on it. The fast paths in
 * graph.S compare with the thread's current stack. When that does not fit, they look among those
 * that the thread ran on lately; when none of them does (a new stack, frames that have vanished, no
 * shadow yet), they come here.
 *
 * The bounds of a stack are known for threads made by pthread_create(), for main's, and for those
 * that makecontext() and sigaltstack() name. Any other is learned: its top is the first slot seen,
 * its lower end moves down with the calls, within its mapping and to the next stack at most.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_STACK_H
#define VESTIGE_HOOK_GRAPH_GRAPH_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash.h"

/*
 * A stack. All its state is here, whichever thread runs on it, so another thread may resume a
 * coroutine. graph.S reads and writes it; offsets.h has the offsets.
 */
struct graph_stack {
	uint64_t open;	  /* slot of the innermost open call; `top` when there is none */
	uint64_t lo;	  /* lowest address known to be in use: from here up there is a shadow */
	uint64_t top;	  /* 0: the row is free */
	uint64_t word;	  /* head word of its RECORD_STACK, stamp 0: no other stack has the same */
	uint64_t root;	  /* slot of the call of a set_graph_function that is open, 0 none */
	uint64_t hidden;  /* the same of a set_graph_notrace */
	uint32_t depth;	  /* open calls with an entry record, as far as filters need it */
	uint32_t level;	  /* graph_rows.c's: how it is found; while it is free the next free row */
	uint64_t shadow;  /* where a slot's struct graph_shadow lies: this + 4 * slot */
	uint64_t floor;	  /* the stack's end; 0: learned, not known */
	uint32_t filters; /* graph_filters when depth, root and hidden were last looked at whole */
	uint32_t is_thread; /* it was given to a thread by pthread_create(), or is main's */
	uint64_t doubt_lo; /* graph_learn.c's: what `lo` was before the row was doubted; 0: never */
	uint64_t is_crowded; /* calls below it were left out: it was unclear whose they are */
	uint64_t profiled;   /* when a profiled call on it last began or ended; 0: never */
} __attribute__((aligned(64)));

#define GRAPH_RECENT 32u

/* Of the calling thread. */
struct graph_tls {
	struct graph_stack *current; /* a stack that fits no slot while the slow path runs */
	uint64_t word;		     /* of the stack on which the thread's last record was made */
	struct graph_stack *recent[GRAPH_RECENT]; /* that the thread ran on, by graph_recent() */
	uint32_t busy;				  /* inside the slow path, or for good */
	uint32_t switched;			  /* this thread has run on several stacks */
	struct graph_stack *last;		  /* while `current` is none: the one before */
	uint64_t busy_at;			  /* the slot for which it is busy */
	uint32_t turn;				  /* how often the slow path was taken */
	uint32_t forbidden;
	struct graph_stack *own; /* the stack that the thread was given; own_word: if it still is */
	uint64_t own_word;
	struct graph_stack *alt; /* the stack of sigaltstack(); alt_word: the same */
	uint64_t alt_word;
	uint64_t thread_top, thread_bytes; /* its bounds, 0 unknown */
};

/* Where to look for the stack of a slot. graph.S does the same. */
static inline uint32_t graph_recent(uint64_t slot)
{
	return (uint32_t)(hash_u64(slot >> 12) >> 59);
}

extern __thread struct graph_tls graph_tls __attribute__((tls_model("initial-exec")));

/* The result of the fast path. */
enum graph_step { GRAPH_ENTER = 0, GRAPH_EXIT = 1 };

/*
 * graph_stack_slow() - make graph_tls fit for the call whose return address lies at @slot.
 * @fp: the caller's frame pointer. @stub: of the function that is called, or behind it by less than
 * a stub; 0 at an exit.
 * Called by the hooks at any instruction: no lock, no libc; mmap() where a stack is new.
 * Return: 1: it does; 0: leave this call unwrapped, it is counted. An exit is always made to fit.
 */
int graph_stack_slow(uint64_t slot, enum graph_step step, uint64_t fp, uint64_t stub);

/* After a change of page: readers of this page must know the stack. Any context. */
void graph_stack_note(void);

/*
 * graph_stack_count() - the filters have changed, and calls that are open began under other ones:
 * set what filters know of the calling thread's stack @s from its open calls. Any context.
 */
void graph_stack_count(struct graph_stack *s);

/*
 * graph_stack_drop() - the calls of the stack around @sp whose slots lie below it have vanished.
 * A stack that is not known is left alone. Any context.
 */
void graph_stack_drop(uint64_t sp);

/* The tables, before the first wrapped call. Normal context. Return: 0 or -ENOMEM. */
int graph_stacks_start(void);

/*
 * graph_stacks_probe() - whether there can be a shadow of the calling thread's stack.
 * Normal context. Return: 0; -EEXIST: other memory is at its addresses; -ENOMEM.
 */
int graph_stacks_probe(void);

/* Say in vestige_status why calls were left unwrapped, if some were. Normal context. */
void graph_stacks_report(void);

/* Calls are being wrapped, or are not: threads that start get their shadow ahead. */
void graph_stacks_active(int on);

/* A stack's bounds are known: @lo .. @lo + @bytes. Normal context. */
void graph_stack_known(uint64_t lo, uint64_t bytes);

/* The calling thread's signal stack from now on; @bytes: 0: it has none. Normal context. */
void graph_stack_signals(uint64_t lo, uint64_t bytes);

/* The calling thread begins on a stack of @bytes that ends about here; its calls are new. */
void graph_thread_start(uint64_t top, uint64_t bytes);

/*
 * It gives up system calls: as much of its stack as it may use is given a shadow. Normal context.
 */
void graph_thread_ahead(void);

/*
 * The same for stacks that are made later: a thread that has given up system calls may run on them.
 * Normal context.
 */
void graph_stacks_ahead(void);

/* It shares its thread-local memory with another from now on: its calls stay unwrapped. */
void graph_thread_forbid(void);

/*
 * graph_thread_left() - the calls that are open on the thread's own stack will not return, since it
 * ends by pthread_exit(), or the process by exit(): they end now, as unwound ones do. Normal context.
 */
void graph_thread_left(void);

/* It ends: its stack may be another thread's. */
void graph_thread_end(void);

#endif
