/* SPDX-License-Identifier: MIT */
/*
 * The open calls of each stack at the current record, and the stack on which each thread runs. A
 * stack is a thread's own, or another one of its process (a coroutine's, a signal handler's).
 */
#ifndef VESTIGE_TOOLS_OPEN_CALLS_H
#define VESTIGE_TOOLS_OPEN_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/analysis/calls.h"
#include "tools/base/hash_index.h"

struct open_stack {
	uint64_t key;
	uint64_t *ips;
	uint32_t nr, room;
	uint64_t now; /* of a thread's own: the key of the stack on which it runs */
};

/* All zero: empty. Freed with open_calls_clear(). */
struct open_calls {
	struct open_stack *stacks;
	size_t nr, room;
	struct hash_index index; /* by key */
};

/* A call begins; ends. Return: 0 or -ENOMEM with fail() set. */
int open_calls_enter(struct open_calls *o, const struct call *call);
int open_calls_leave(struct open_calls *o, const struct call *call);

/*
 * open_calls_of() - the calls of a thread, the innermost last.
 * *@nr: gets their number. Return: their functions, borrowed until the next call of this file;
 * NULL: there are none.
 */
const uint64_t *open_calls_of(const struct open_calls *o, uint32_t process, int32_t pid,
			      uint32_t *nr);

void open_calls_clear(struct open_calls *o);

#endif
