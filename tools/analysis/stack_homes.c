/* SPDX-License-Identifier: MIT */
/* See stack_homes.h. Tests: tests/cli/test_export.py. */
#include "tools/analysis/stack_homes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

static uint64_t thread_of(const struct call *call)
{
	return (uint64_t)call->process << 32 | (uint32_t)call->pid;
}

static int64_t home_of(const struct stack_homes *h, uint64_t thread)
{
	return HASH_INDEX_FIND(&h->index, thread, i, h->homes[i].thread == thread);
}

int stack_homes_enter(struct stack_homes *h, const struct call *call)
{
	uint64_t thread = thread_of(call);

	if (!call->stack || home_of(h, thread) >= 0)
		return 0;
	if (ARRAY_ROOM(h->homes, h->nr, h->room, 64) ||
	    hash_index_add(&h->index, thread, (uint32_t)h->nr))
		return fail(ENOMEM, "out of memory");
	h->homes[h->nr++] = (struct stack_home){.thread = thread, .stack = call->stack};
	return 0;
}

bool stack_homes_is_own(const struct stack_homes *h, const struct call *call)
{
	int64_t home = call->stack ? home_of(h, thread_of(call)) : 0;

	return !call->stack || (home >= 0 && h->homes[home].stack == call->stack);
}

void stack_homes_clear(struct stack_homes *h)
{
	free(h->homes);
	hash_index_clear(&h->index);
	memset(h, 0, sizeof(*h));
}
