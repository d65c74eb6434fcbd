/* SPDX-License-Identifier: MIT */
/* See stack_numbers.h. Tests: tests/engine/dat_graph.c. */
#include "tools/analysis/stack_numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

uint32_t stack_numbers_find(struct stack_numbers *s, uint64_t key)
{
	int64_t found = HASH_INDEX_FIND(&s->index, key, i, s->keys[i] == key);

	if (found < 0) {
		if (ARRAY_ROOM(s->keys, s->nr, s->room, 64) ||
		    hash_index_add(&s->index, key, (uint32_t)s->nr)) {
			fail(ENOMEM, "out of memory for the numbers of %zu stacks", s->nr);
			return 0;
		}
		found = (int64_t)s->nr;
		s->keys[s->nr++] = key;
	}
	s->last = (struct stack_number){.key = key, .number = (uint32_t)found + 1};
	return s->last.number;
}

void stack_numbers_clear(struct stack_numbers *s)
{
	free(s->keys);
	hash_index_clear(&s->index);
	memset(s, 0, sizeof(*s));
}
