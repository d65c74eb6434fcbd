/* SPDX-License-Identifier: MIT */
/*
 * Stacks of calls in the trace, as the kernel's event ftrace:kernel_stack: from the program's
 * innermost function outwards, without the engine's frames.
 */
#ifndef VESTIGE_CORE_STACK_H
#define VESTIGE_CORE_STACK_H

#include "abi/option.h"
#include "engine/ring/ring.h"

/*
 * Called for each function of the stack: @ip, and its stack pointer. Return: not 0: end the walk.
 */
typedef int stack_each(void *arg, uint64_t ip, uint64_t sp);

/*
 * The walker: calls @each for each function of the calling thread's stack, innermost first, with
 * the address at which the function continues. Any context. Set in constructor context.
 */
typedef void stack_walk(stack_each *each, void *arg);
void stack_register(stack_walk *walk, int (*prepare)(void));

/*
 * stack_prepare() - prepare walks, which may load an object: not under the tree lock, nor in a
 * hook. Return: 0; -ENOSYS: this program has no unwinder.
 */
int stack_prepare(void);

/*
 * stack_start() - before stacks are recorded. Under the tree lock, after stack_prepare(). Return:
 * 0; -ENOSYS; -ENOSPC: no room for the event's format.
 */
int stack_start(void);

/* stack_each_frame() - walk the calling thread's stack. Any context, after stack_prepare(). */
void stack_each_frame(stack_each *each, void *arg);

/*
 * stack_save() - save the calling thread's return addresses, innermost first, at most @room, into
 * @to. Return: how many. Any context, after stack_prepare().
 */
uint32_t stack_save(uint64_t *to, uint32_t room);

/* stack_record() - record the calling thread's stack. Any context, after stack_start(). */
void stack_record(struct ring *r);

/* As stack_record(), without the innermost @skip functions. */
void stack_record_from(struct ring *r, uint32_t skip);

/*
 * stack_put() - record a stack that was saved before: @nr addresses at @frames, innermost first; 0:
 * no record. Any context, after stack_start().
 */
void stack_put(struct ring *r, const uint64_t *frames, uint32_t nr);

/* As stack_put(), for the thread in ring_as. Does nothing before stack_start(). */
void stack_put_as_other(struct ring *r, const uint64_t *frames, uint32_t nr);

/* Whether stack_start() was successful. */
int stack_started(void);

/*
 * stack_record_wanted() - after a record was made: record the stacks for which the options
 * stacktrace and userstacktrace ask. In a process both are the same stack.
 */
void stack_record_wanted(struct ring *r);
static inline int stack_is_wanted(const struct ring *r)
{
	return (load_relaxed(&r->buffer->options) & (UINT64_C(1) << AREA_OPTION_STACKTRACE |
						     UINT64_C(1) << AREA_OPTION_USERSTACKTRACE)) !=
	       0;
}

#endif
