/* SPDX-License-Identifier: MIT */
/* Numbers the stacks of all processes, from 1, in the order in which they are first looked up. */
#ifndef VESTIGE_TOOLS_STACK_NUMBERS_H
#define VESTIGE_TOOLS_STACK_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "tools/base/hash_index.h"

/* All zero: empty. Freed with stack_numbers_clear(). */
struct stack_numbers {
	struct stack_number {
		uint64_t key;	 /* process and id */
		uint32_t number; /* 0: none */
	} last;			 /* the last look-up */
	uint64_t *keys;		 /* by number - 1 */
	size_t nr, room;
	struct hash_index index; /* of keys */
};

void stack_numbers_clear(struct stack_numbers *s);

uint32_t stack_numbers_find(struct stack_numbers *s, uint64_t key);

/* The number of stack @id (not 0) of @process; 0: no memory, with fail() set. */
static inline uint32_t stack_number(struct stack_numbers *s, uint32_t process, uint32_t id)
{
	uint64_t key = (uint64_t)process << 32 | id;

	return s->last.number && s->last.key == key ? s->last.number : stack_numbers_find(s, key);
}

#endif
