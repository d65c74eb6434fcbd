/* SPDX-License-Identifier: MIT */
/*
 * Finds the stack of a slot that is on no known stack, and that nothing names. Any context, any
 * instruction; no lock.
 */
#ifndef VESTIGE_HOOK_GRAPH_GRAPH_LEARN_H
#define VESTIGE_HOOK_GRAPH_GRAPH_LEARN_H

#include "engine/hook/graph/graph_stack.h"

/*
 * graph_learn() - get the stack of a call whose slot is on no known stack: a learned one that is
 * deeper now, or a new one. Makes system calls if the next stack above is on another page.
 * @current: the thread's last stack; NULL: none. @fp: the caller's frame pointer. @unclear: set if
 * the call must be left out because its stack is unknown. Return: its row; NULL: unclear, or all
 * rows are in use.
 */
struct graph_stack *graph_learn(const struct graph_stack *current, uint64_t slot, uint64_t fp,
				int *unclear);

/*
 * graph_called_by_innermost() - whether the address to which the call at @slot returns is in the
 * function of the innermost open call of @s. @slot is below that call.
 */
int graph_called_by_innermost(const struct graph_stack *s, uint64_t slot);

/*
 * graph_may_read() - whether the word at @slot of the stack @s may be read: a stack that was left
 * for good may be unmapped by now. @near: an address of the stack that may be read.
 */
int graph_may_read(const struct graph_stack *s, uint64_t slot, uint64_t near);

#endif
