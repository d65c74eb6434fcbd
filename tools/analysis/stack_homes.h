/* SPDX-License-Identifier: MIT */
/*
 * Finds a thread's own stack: the stack of its first call. Other stacks are of coroutines or signal
 * handlers.
 */
#ifndef VESTIGE_TOOLS_STACK_HOMES_H
#define VESTIGE_TOOLS_STACK_HOMES_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/analysis/calls.h"
#include "tools/base/hash_index.h"

/* All zero: empty. Freed with stack_homes_clear(). */
struct stack_homes {
	struct stack_home {
		uint64_t thread; /* process << 32 | pid */
		uint32_t stack;
	} * homes;
	size_t nr, room;
	struct hash_index index; /* by thread */
};

/*
 * stack_homes_enter() - a call begins. To be called for each one, in order.
 * Return: 0 or -ENOMEM with fail() set.
 */
int stack_homes_enter(struct stack_homes *h, const struct call *call);

/* Is @call on the own stack of its thread? */
bool stack_homes_is_own(const struct stack_homes *h, const struct call *call);

void stack_homes_clear(struct stack_homes *h);

#endif
