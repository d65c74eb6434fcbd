/* SPDX-License-Identifier: MIT */
/* See stack_numbers.h. Tests: tests/engine/dat_graph.c. */
#include "tools/analysis/stack_numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_SLOTS 64u

static struct stack_number *slot_of(struct stack_number *at, size_t slots, uint64_t key)
{
	size_t i = hash_u64(key) >> 20 & (slots - 1);

	while (at[i].number && at[i].key != key)
		i = (i + 1) & (slots - 1);
	return &at[i];
}

uint32_t stack_numbers_find(struct stack_numbers *s, uint64_t key)
{
	struct stack_number *slot;

	if (s->nr >= s->slots / 2) {
		size_t slots = s->slots ? s->slots * 2 : FIRST_SLOTS;
		struct stack_number *more = calloc(slots, sizeof(*more));

		if (!more) {
			fail(ENOMEM, "no memory for the numbers of %zu stacks", slots);
			return 0;
		}
		for (size_t i = 0; i < s->slots; i++)
			if (s->at[i].number)
				*slot_of(more, slots, s->at[i].key) = s->at[i];
		free(s->at);
		s->at = more;
		s->slots = slots;
	}
	slot = slot_of(s->at, s->slots, key);
	if (!slot->number)
		*slot = (struct stack_number){.key = key, .number = (uint32_t)++s->nr};
	s->last = *slot;
	return slot->number;
}

void stack_numbers_clear(struct stack_numbers *s)
{
	free(s->at);
	memset(s, 0, sizeof(*s));
}
