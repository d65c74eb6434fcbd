/* SPDX-License-Identifier: MIT */
/*
 * Stacks that nothing names: finds the stack of a slot that is on no known stack. Any context, any
 * instruction; no lock.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_LEARN_H
#define VESTIGE_HOOK_GRAPH_GRAPH_LEARN_H

#include "engine/hook/graph/graph_stack.h"

/*
 * graph_learn() - the stack of a call whose slot lies on no known stack: a learned one that is
 * deeper now, or a new one. System calls where the next stack above is on another page.
 * @current: the stack on which the thread was last, NULL: none. @fp: the caller's frame pointer.
 * @unclear: set if the call must be left out because its stack is unknown.
 * Return: its row; NULL: unclear, or all rows are taken.
 */
struct graph_stack *graph_learn(const struct graph_stack *current, uint64_t slot, uint64_t fp,
				int *unclear);

/*
 * graph_called_by_innermost() - whether the innermost open call's function contains the address to
 * which @slot, below it, returns.
 */
int graph_called_by_innermost(const struct graph_stack *s, uint64_t slot);

/*
 * graph_may_read() - whether the word at @slot of the stack @s may be read: a stack that was left
 * for good may be unmapped by now. @near: an address of it that may be.
 */
int graph_may_read(const struct graph_stack *s, uint64_t slot, uint64_t near);

#endif
