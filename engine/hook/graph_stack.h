/* SPDX-License-Identifier: MIT */
/*
 * On which stack a thread runs, and which wrapped calls are open on it. The fast paths in graph.S
 * compare with graph_tls; when that does not fit (another stack, frames that have vanished, no
 * shadow yet) they come here.
 *
 * The bounds of a stack are known for threads made by pthread_create(), for main's, and for those
 * that makecontext() and sigaltstack() name. Any other is learned: its top is the first slot seen,
 * its lower end moves down with the calls.
 */
#ifndef VESTIGE_HOOK_GRAPH_STACK_H
#define VESTIGE_HOOK_GRAPH_STACK_H

#include <stddef.h>
#include <stdint.h>

/* Of the calling thread. graph.S reads and writes the first words; offsets.h has their offsets. */
struct graph_tls {
	uint64_t open;	   /* slot of the innermost open call; `top` when there is none */
	uint64_t lo;	   /* slots from here up to `open` need nothing from the slow path */
	uint64_t top;	   /* of the current stack */
	uint64_t root;	   /* slot of the call of a set_graph_function that is open, 0 none */
	uint64_t hidden;   /* the same of a set_graph_notrace */
	uint32_t depth;	   /* open calls with an entry record, as far as filters need it */
	uint32_t stack;	   /* row of the current stack + 1, 0 none yet */
	uint32_t busy;	   /* inside the slow path */
	uint32_t switched; /* this thread has run on several stacks */
	uint64_t busy_at;  /* the slot for which it is busy */
	uint32_t stack_id;
	uint32_t turn; /* how often the slow path was taken */
	uint32_t forbidden;
	uint32_t own, own_id; /* as stack and stack_id: the stack that the thread was given */
	uint64_t thread_top, thread_bytes; /* its bounds, 0 unknown */
};

extern __thread struct graph_tls graph_tls __attribute__((tls_model("initial-exec")));

/* What the fast path found. */
enum graph_step { GRAPH_ENTER = 0, GRAPH_EXIT = 1 };

/*
 * graph_stack_slow() - make graph_tls fit for the call whose return address lies at @slot.
 * Called by the hooks at any instruction: no lock, no libc; mmap() where a stack is new.
 * Return: 1: it does; 0: leave this call unwrapped, it is counted. An exit is always made to fit.
 */
int graph_stack_slow(uint64_t slot, enum graph_step step);

/* After a change of page: readers of this page must know the stack. Any context. */
void graph_stack_note(void);

/*
 * graph_stack_drop() - the calls of the stack around @sp whose slots lie below it have vanished.
 * Return: nothing; what is no stack of ours is left alone. Any context.
 */
void graph_stack_drop(uint64_t sp);

/* The tables, before the first wrapped call. Normal context. Return: 0 or -ENOMEM. */
int graph_stacks_start(void);

/*
 * graph_stacks_probe() - whether there can be a shadow of the calling thread's stack.
 * Normal context. Return: 0, or -EEXIST: somebody else has its addresses.
 */
int graph_stacks_probe(void);

/* Calls are being wrapped, or are not: threads that start get their shadow ahead. */
void graph_stacks_active(int on);

/* A stack's bounds are known: @lo .. @lo + @bytes. Normal context. */
void graph_stack_known(uint64_t lo, uint64_t bytes);

/* The calling thread begins on a stack of @bytes that ends about here; its calls are new. */
void graph_thread_start(uint64_t top, uint64_t bytes);

/* It shares its thread-local memory with another from now on: its calls stay unwrapped. */
void graph_thread_forbid(void);

/* It ends: its stack may be another thread's. */
void graph_thread_end(void);

#endif
