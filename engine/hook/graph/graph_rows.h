/* SPDX-License-Identifier: MIT */
/*
 * The table of stacks: a row for each known stack, found by any address on the stack. Any context,
 * any instruction; no lock.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_ROWS_H
#define VESTIGE_HOOK_GRAPH_GRAPH_ROWS_H

#include "engine/hook/graph/graph_stack.h"

/*
 * The number of stacks that may exist at the same time. Learned ones leave a thousand rows free for
 * threads and other stacks with known bounds.
 */
#define GRAPH_ROWS    131072u
#define GRAPH_LEARNED 130000u

/* Map the table, once. Normal context. Return: 0 or -ENOMEM. */
int graph_rows_start(void);

/*
 * graph_row_make() - make a row for the stack @floor .. @top, without a shadow yet. @floor: 0: the
 * stack's lower end is not known; then it is found by addresses from @lo up. Return: the row; NULL:
 * all are in use.
 */
struct graph_stack *graph_row_make(uint64_t floor, uint64_t lo, uint64_t top);

/* graph_row_extend() - a row without a known lower end is to be found down to @lo. */
void graph_row_extend(struct graph_stack *s, uint64_t lo);

/*
 * graph_row_forget() - the stack does not exist any more. A thread whose last stack it was takes
 * the slow path.
 */
void graph_row_forget(struct graph_stack *s);

/* graph_rows_forget() - forget all stacks that overlap @lo .. @hi. */
void graph_rows_forget(uint64_t lo, uint64_t hi);

/*
 * graph_row_find() - find the row of the stack that has @slot. Return: NULL: no stack is known
 * there.
 */
struct graph_stack *graph_row_find(uint64_t slot);

/* Implements ops_call_may_be_open(). */
int graph_row_may_be_open(uint64_t slot, uint64_t stack, uint64_t at);

/*
 * graph_rows_each() - call @what for each row that overlaps @lo .. @hi, until it returns 0. It may
 * be called twice for a row. @arg: passed to it. Return: 0 if it returned 0.
 */
int graph_rows_each(uint64_t lo, uint64_t hi, int (*what)(struct graph_stack *s, void *arg),
		    void *arg);

/*
 * graph_rows_keep_thread() - in a fork's child: forget the stacks of threads except @own (NULL: all
 * of them). Normal context.
 */
void graph_rows_keep_thread(const struct graph_stack *own);

/* Whether @slot is on the stack. */
static inline int graph_row_covers(const struct graph_stack *s, uint64_t slot)
{
	return slot < s->top && slot >= (s->floor ? s->floor : s->lo);
}

/*
 * graph_rows_leave() - @lo .. @hi is not mapped any more: forget the stacks whose upper end was in
 * it. Return: whether no other stack overlaps it.
 */
int graph_rows_leave(uint64_t lo, uint64_t hi);

#endif
