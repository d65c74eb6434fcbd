/* SPDX-License-Identifier: MIT */
/*
 * The stack tracer: the deepest stack that any thread of the program had, function by function. The
 * result is in the area (struct area_stack), where the tools can read it, also after the process's
 * end.
 */
#ifndef VESTIGE_CORE_STACK_TRACER_H
#define VESTIGE_CORE_STACK_TRACER_H

#include <stdint.h>

#include "engine/core/function.h"

/* stack_trace_filter: the functions at whose entry the depth is checked; empty: all. */
extern struct function_set stack_trace_filter;

int stack_tracer_is_on(void);

/*
 * stack_tracer_set() - switch it on or off; the result so far stays. Under the tree lock, after
 * stack_prepare(). Return: 0; -ENOSYS: this program has no unwinder; -ENOSPC; -errno of the hook.
 */
int stack_tracer_set(int on);

/* Whether there is a result. */
int stack_tracer_found(void);

/* The filter has changed. Return: 0 or -errno. */
int stack_tracer_update(void);

/*
 * stack_tracer_listen() - call @func at each entry of a function of stack_trace_filter, on the
 * stack with which its thread began. NULL: stop. One listener, which stays for ever. @ip: of the
 * function. @depth: bytes in use, the return address included. @left: bytes below, to the end of
 * the stack. Any context. Under the tree lock. Return: 0; -errno of the hook.
 */
typedef void stack_left_func(uint64_t ip, uint64_t parent_ip, uint64_t depth, uint64_t left);
int stack_tracer_listen(stack_left_func *func);

/* Set stack_max_size. Return: 0 or -ENOSPC. */
int stack_tracer_set_max(uint64_t bytes);

#endif
