/* SPDX-License-Identifier: MIT */
/*
 * The images of calls.h: what one process number of the reader stands for. exec() puts an image in
 * the place of another and ends all threads of that one, and no record says when. So the first
 * record of an image ends the calls that are open in the one before it, at that one's last record
 * of any kind. Found once for each record or run. Tests: tests/unit/test_calls.c,
 * tests/cli/test_exec.py.
 */
#include <stdlib.h>

#include "tools/analysis/calls_impl.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"

#define MAX_IMAGES (1u << 20) /* as many processes as a recording may have */

void calls_use(struct calls *c, struct reader *r)
{
	c->r = r;
	c->tells_processes = r && r->ops->process_key;
}

uint64_t calls_end_of(const struct calls *c, const struct stack *s, uint64_t ts)
{
	size_t lo = 0, hi = c->r && s->process == PROCESS_TOLD ? c->r->nr_ends : 0, nr = hi;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->r->ends[mid].stack < s->id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr && c->r->ends[lo].stack == s->id && c->r->ends[lo].ts < ts
		       ? c->r->ends[lo].ts
		       : ts;
}

static int by_stack(const void *a, const void *b)
{
	uint32_t x = ((const struct record_end *)a)->stack;
	uint32_t y = ((const struct record_end *)b)->stack;

	return x < y ? -1 : x > y;
}

int calls_ends(const struct calls *c, struct stack_numbers *numbers, struct record_end **out,
	       size_t *nr)
{
	const size_t n = c->nr_ends ? c->nr_ends : c->r ? c->r->nr_ends : 0;
	struct record_end *at = malloc((n + 1) * sizeof(*at));

	*out = at;
	*nr = 0;
	if (!at)
		return fail(ENOMEM, "no memory for what is known of %zu stacks", n);
	for (size_t i = 0; i < c->nr_ends; i++) {
		uint32_t stack = stack_number(numbers, c->ends[i].process, c->ends[i].stack);

		if (!stack)
			return -ENOMEM;
		at[(*nr)++] = (struct record_end){stack, c->ends[i].ts};
	}
	/* records of a trace.dat keep the numbers of their stacks */
	for (; *nr < n; ++*nr)
		at[*nr] = c->r->ends[*nr];
	qsort(at, n, sizeof(*at), by_stack);
	return 0;
}

/* All calls of image @process end. Return: 0 or -ENOMEM. */
static int end_image(struct calls *c, uint32_t process, uint64_t ts)
{
	struct stack *s, *older;

	/* as a rule they were used last */
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

/* Image @process, which has key @key, is the latest one of its process. Return: 0 or -ENOMEM. */
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

	if (process >= MAX_IMAGES || !c->r->ops->process_key)
		return 0;
	if (process >= all->nr) {
		uint32_t nr = (process + 16) & ~15u;
		struct image *more = realloc(all->at, nr * sizeof(*more));

		if (!more)
			return fail(ENOMEM, "no memory for %u processes", nr);
		for (uint32_t i = all->nr; i < nr; i++)
			more[i] = (struct image){0};
		all->at = more;
		all->nr = nr;
	}
	all->at[process].seen = true;
	key = c->r->ops->process_key(c->r, process);
	all->at[process].known = key != 0;
	if (key && take_place(c, process, key))
		return fail(ENOMEM, "no memory for %zu processes", all->nr_rows);
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
