/* SPDX-License-Identifier: MIT */
/* See open_calls.h. Tests: tests/cli/test_script.py. */
#include "tools/analysis/open_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define FIRST_FRAMES 16u
#define IS_THREAD    (UINT64_C(1) << 63) /* in a key: a thread's own stack */
#define IS_STACK     (UINT64_C(1) << 62)

static uint64_t key_of_thread(uint32_t process, int32_t pid)
{
	return IS_THREAD | (uint64_t)(process & 0x3fffffff) << 32 | (uint32_t)pid;
}

static uint64_t key_of_stack(uint32_t process, uint32_t stack)
{
	return IS_STACK | (uint64_t)(process & 0x3fffffff) << 32 | stack;
}

static int64_t find(const struct open_calls *o, uint64_t key)
{
	return HASH_INDEX_FIND(&o->index, key, i, o->stacks[i].key == key);
}

/* Borrowed until the next call. NULL: memory is short. */
static struct open_stack *find_or_add(struct open_calls *o, uint64_t key)
{
	int64_t found = find(o, key);

	if (found >= 0)
		return &o->stacks[found];
	if (ARRAY_ROOM(o->stacks, o->nr, o->room, 64) ||
	    hash_index_add(&o->index, key, (uint32_t)o->nr)) {
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	o->stacks[o->nr] = (struct open_stack){.key = key, .now = key};
	return &o->stacks[o->nr++];
}

/* The stack of a call; its thread now runs there. NULL: memory is short. */
static struct open_stack *stack_of(struct open_calls *o, const struct call *call)
{
	uint64_t thread = key_of_thread(call->process, call->pid);
	uint64_t key = call->stack ? key_of_stack(call->process, call->stack) : thread;
	struct open_stack *s = find_or_add(o, thread);

	if (!s)
		return NULL;
	s->now = key;
	return key == thread ? s : find_or_add(o, key);
}

int open_calls_enter(struct open_calls *o, const struct call *call)
{
	struct open_stack *s = stack_of(o, call);

	if (!s || ARRAY_ROOM(s->ips, s->nr, s->room, FIRST_FRAMES))
		return fail(ENOMEM, "out of memory");
	s->ips[s->nr++] = call->ip;
	return 0;
}

int open_calls_leave(struct open_calls *o, const struct call *call)
{
	struct open_stack *s = stack_of(o, call);

	if (!s)
		return -ENOMEM;
	s->nr -= s->nr != 0;
	return 0;
}

const uint64_t *open_calls_of(const struct open_calls *o, uint32_t process, int32_t pid,
			      uint32_t *nr)
{
	int64_t thread = find(o, key_of_thread(process, pid)), at = -1;

	if (thread >= 0)
		at = find(o, o->stacks[thread].now);
	*nr = at < 0 ? 0 : o->stacks[at].nr;
	return at < 0 ? NULL : o->stacks[at].ips;
}

void open_calls_clear(struct open_calls *o)
{
	for (size_t i = 0; i < o->nr; i++)
		free(o->stacks[i].ips);
	free(o->stacks);
	hash_index_clear(&o->index);
	memset(o, 0, sizeof(*o));
}
