/* SPDX-License-Identifier: MIT */
/*
 * The images of calls.h; a process number of the reader is one image. exec() replaces an image by
 * another and ends all threads of the old one, but no record has the time. So the first record of
 * an image ends the open calls of the image before it, at the last record, of any kind, of that
 * image. The same is done for a process that ended, for example by a signal, before the recording
 * did. Costs a look-up for each record or run.
 * Tests: tests/unit/test_calls.c, tests/cli/test_exec.py.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/calls_impl.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"

#define MAX_IMAGES (1u << 20) /* as many processes as a recording may have */

void calls_use(struct calls *c, struct reader *r)
{
	c->r = r;
	c->knows_processes = r && r->ops->process_key;
}

/* The thread whose own stack @s is; 0: the stack has a number. */
static int32_t owner(const struct stack *s)
{
	return s->own && !s->id ? ((const struct thread *)s)->pid : 0;
}

static int by_stack(const void *a, const void *b)
{
	const struct record_end *x = a, *y = b;

	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

uint64_t calls_end_of(const struct calls *c, const struct stack *s, uint64_t ts)
{
	const struct record_end key = {.stack = s->id, .pid = owner(s)}, *end;

	if (!c->r || !c->r->nr_ends)
		return ts;
	/* only stacks of trace.dat records; in the native block stacks have a process */
	if (s->id ? s->process != PROCESS_NONE : calls_knows_image(c, s->process))
		return ts;
	end = bsearch(&key, c->r->ends, c->r->nr_ends, sizeof(key), by_stack);
	/* a thread's number may be used again for another thread */
	return end && end->ts < ts && end->ts >= s->last_ts ? end->ts : ts;
}

uint64_t calls_last_of(const struct calls *c, const struct stack *s)
{
	bool ended = false;

	if (calls_knows_image(c, s->process))
		(void)c->r->ops->process_key(c->r, s->process, &ended);
	return ended ? c->images.at[s->process].last_ts : c->last_ts;
}

/* A thread's number may have been used twice: the later end is the one of the open calls. */
static size_t unique(struct record_end *at, size_t nr)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!n || by_stack(&at[n - 1], &at[i]))
			at[n++] = at[i];
		else if (at[i].ts > at[n - 1].ts)
			at[n - 1].ts = at[i].ts;
	}
	return n;
}

int calls_ends(const struct calls *c, struct stack_numbers *numbers, struct record_end **out,
	       size_t *nr)
{
	const size_t nr_known = c->r ? c->r->nr_ends : 0;
	struct record_end *at = malloc((c->nr_ends + c->nr_stacks + nr_known + 1) * sizeof(*at));

	*out = at;
	*nr = 0;
	if (!at)
		return fail(ENOMEM, "out of memory for what is known of %zu stacks", c->nr_stacks);
	for (size_t i = 0; i < c->nr_ends; i++) {
		uint32_t stack = stack_number(numbers, c->ends[i].process, c->ends[i].stack);

		if (!stack)
			return -ENOMEM;
		at[(*nr)++] = (struct record_end){.stack = stack, .ts = c->ends[i].ts};
	}
	for (const struct stack *s = c->oldest; s; s = s->newer) {
		struct record_end end = {.pid = owner(s), .ts = calls_last_of(c, s)};

		if (!s->nr || (!s->id && !end.pid) || end.ts == c->last_ts)
			continue;
		end.stack = s->id ? stack_number(numbers, s->process, s->id) : 0;
		if (s->id && !end.stack)
			return -ENOMEM;
		at[(*nr)++] = end;
	}
	/* records of a trace.dat keep the numbers of their stacks */
	if (!*nr && nr_known) {
		memcpy(at, c->r->ends, nr_known * sizeof(*at));
		*nr = nr_known;
	}
	qsort(at, *nr, sizeof(*at), by_stack);
	*nr = unique(at, *nr);
	return 0;
}

/* All calls of image @process end. Return: 0 or -ENOMEM. */
static int end_image(struct calls *c, uint32_t process, uint64_t ts)
{
	struct stack *s, *older;

	/* they were mostly used last */
	for (s = c->newest; s && c->images.at[process].nr_stacks; s = older) {
		older = s->older;
		if (s->process != process)
			continue;
		if (s->nr && s->id) {
			if (ARRAY_ROOM(c->ends, c->nr_ends, c->room_ends, 16))
				return -ENOMEM;
			c->ends[c->nr_ends++] = (struct calls_end){process, s->id, ts};
		}
		calls_end_stack(c, s, ts);
		calls_drop_stack(c, s);
	}
	return 0;
}

/* Make image @process the latest one of the process with @key. Return: 0 or -ENOMEM. */
static int take_place(struct calls *c, uint32_t process, uint64_t key)
{
	struct calls_images *all = &c->images;
	int64_t row = HASH_INDEX_FIND(&all->index, key, i, all->rows[i].key == key);
	uint32_t before;

	if (row < 0) {
		if (ARRAY_ROOM(all->rows, all->nr_rows, all->room, 16) ||
		    hash_index_add(&all->index, key, (uint32_t)all->nr_rows))
			return -ENOMEM;
		row = (int64_t)all->nr_rows++;
		all->rows[row].key = key;
	} else {
		before = all->rows[row].latest;
		if (end_image(c, before, all->at[before].last_ts))
			return -ENOMEM;
	}
	all->rows[row].latest = process;
	return 0;
}

int calls_new_image(struct calls *c, uint32_t process)
{
	struct calls_images *all = &c->images;
	uint64_t key;
	bool ended;

	if (process >= MAX_IMAGES || !c->r->ops->process_key)
		return 0;
	if (process >= all->nr) {
		uint32_t nr = (process + 16) & ~15u;
		struct image *more = realloc(all->at, nr * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "out of memory for %u processes", nr);
		for (uint32_t i = all->nr; i < nr; i++)
			more[i] = (struct image){0};
		all->at = more;
		all->nr = nr;
	}
	all->at[process].seen = true;
	key = c->r->ops->process_key(c->r, process, &ended);
	all->at[process].known = key != 0;
	if (key && take_place(c, process, key))
		return fail(ENOMEM, "out of memory for %zu processes", all->nr_rows);
	return 0;
}

void calls_free_images(struct calls *c)
{
	free(c->images.at);
	free(c->images.rows);
	hash_index_clear(&c->images.index);
	c->images = (struct calls_images){0};
	free(c->ends);
	c->ends = NULL;
	c->nr_ends = c->room_ends = 0;
}
