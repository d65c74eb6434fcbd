/* SPDX-License-Identifier: MIT */
/* See stack_homes.h. Tests: tests/cli/test_export.py. */
#include "tools/analysis/stack_homes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_ROOM 256u

struct stack_home {
	uint64_t thread; /* process << 32 | pid */
	uint32_t stack;
	bool used;
};

static uint64_t thread_of(const struct call *call)
{
	return (uint64_t)call->process << 32 | (uint32_t)call->pid;
}

static struct stack_home *home_at(struct stack_home *homes, size_t room, uint64_t thread)
{
	size_t i = hash_u64(thread) >> 32 & (room - 1);

	while (homes[i].used && homes[i].thread != thread)
		i = (i + 1) & (room - 1);
	return &homes[i];
}

static int grow(struct stack_homes *h)
{
	size_t room = h->room ? 2 * h->room : FIRST_ROOM;
	struct stack_home *more = calloc(room, sizeof(*more));

	if (!more)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < h->room; i++)
		if (h->homes[i].used)
			*home_at(more, room, h->homes[i].thread) = h->homes[i];
	free(h->homes);
	h->homes = more;
	h->room = room;
	return 0;
}

int stack_homes_enter(struct stack_homes *h, const struct call *call)
{
	struct stack_home *home;

	if (!call->stack)
		return 0;
	if (2 * h->nr >= h->room && grow(h))
		return -ENOMEM;
	home = home_at(h->homes, h->room, thread_of(call));
	if (home->used)
		return 0;
	*home = (struct stack_home){.thread = thread_of(call), .stack = call->stack, .used = true};
	h->nr++;
	return 0;
}

bool stack_homes_is_own(const struct stack_homes *h, const struct call *call)
{
	const struct stack_home *home;

	if (!call->stack)
		return true;
	home = h->nr ? home_at(h->homes, h->room, thread_of(call)) : NULL;
	return home && home->used && home->stack == call->stack;
}

void stack_homes_clear(struct stack_homes *h)
{
	free(h->homes);
	memset(h, 0, sizeof(*h));
}
