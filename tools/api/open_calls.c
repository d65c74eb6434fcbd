/* SPDX-License-Identifier: MIT */
/* See open_calls.h. Tests: tests/cli/test_script.py. */
#include "tools/api/open_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"

#define FIRST_ROOM   64u
#define FIRST_FRAMES 16u
#define IS_THREAD    (UINT64_C(1) << 63) /* in a key: a thread's own stack; so no key is 0 */
#define IS_STACK     (UINT64_C(1) << 62)

static uint64_t key_of_thread(uint32_t process, int32_t pid)
{
	return IS_THREAD | (uint64_t)(process & 0x3fffffff) << 32 | (uint32_t)pid;
}

static uint64_t key_of_stack(uint32_t process, uint32_t stack)
{
	return IS_STACK | (uint64_t)(process & 0x3fffffff) << 32 | stack;
}

static struct open_stack *slot_of(struct open_stack *stacks, size_t room, uint64_t key)
{
	size_t i = hash_u64(key) >> 32 & (room - 1);

	while (stacks[i].key && stacks[i].key != key)
		i = (i + 1) & (room - 1);
	return &stacks[i];
}

static int grow(struct open_calls *o)
{
	size_t room = o->room ? 2 * o->room : FIRST_ROOM;
	struct open_stack *more = calloc(room, sizeof(*more));

	if (!more)
		return fail(ENOMEM, "out of memory");
	for (size_t i = 0; i < o->room; i++)
		if (o->stacks[i].key)
			*slot_of(more, room, o->stacks[i].key) = o->stacks[i];
	free(o->stacks);
	o->stacks = more;
	o->room = room;
	return 0;
}

/* NULL: memory is short. */
static struct open_stack *find_or_add(struct open_calls *o, uint64_t key)
{
	struct open_stack *s;

	if (2 * o->nr >= o->room && grow(o))
		return NULL;
	s = slot_of(o->stacks, o->room, key);
	if (!s->key) {
		s->key = s->now = key;
		o->nr++;
	}
	return s;
}

/* The stack of a call, on which its thread is now. NULL: memory is short. */
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
	const struct open_stack *s;

	*nr = 0;
	if (!o->room)
		return NULL;
	s = slot_of(o->stacks, o->room, key_of_thread(process, pid));
	if (s->key && s->now != s->key)
		s = slot_of(o->stacks, o->room, s->now);
	*nr = s->nr;
	return s->ips;
}

void open_calls_clear(struct open_calls *o)
{
	for (size_t i = 0; i < o->room; i++)
		free(o->stacks[i].ips);
	free(o->stacks);
	memset(o, 0, sizeof(*o));
}
