/* SPDX-License-Identifier: MIT */
/* See columns.h. The recordings' tables are taken over; only the events are copied. */
#include "tools/view/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash_index.h"
#include "tools/base/spill_array.h"

static bool same_name(const struct column_name *a, const struct column_name *b)
{
	return !strcmp(a->text, b->text) && !a->object == !b->object &&
	       (!a->object || !strcmp(a->object, b->object));
}

/* @numbers: set to the number in @to of each name of @from. */
static int join_names(struct columns *to, struct columns *from, struct hash_index *index,
		      uint32_t *numbers)
{
	for (size_t i = 0; i < from->nr_names; i++) {
		struct column_name *name = &from->names[i];
		uint64_t hash = hash_bytes(HASH_BYTES_SEED, name->text, strlen(name->text));
		int64_t found = HASH_INDEX_FIND(index, hash, k, same_name(&to->names[k], name));

		if (found < 0) {
			if (ARRAY_ROOM(to->names, to->nr_names, to->room_names, 256) ||
			    hash_index_add(index, hash, (uint32_t)to->nr_names))
				return fail(ENOMEM, "out of memory");
			found = (int64_t)to->nr_names;
			to->names[to->nr_names] = *name;
			if (to->nr_files)
				to->names[to->nr_names].ip = 0;
			*name = (struct column_name){0};
			to->nr_names++;
		}
		numbers[i] = (uint32_t)found;
	}
	return 0;
}

static int join_texts(struct columns *to, struct columns *from)
{
	for (size_t i = 0; i < from->nr_texts; i++) {
		if (ARRAY_ROOM(to->texts, to->nr_texts, to->room_texts, 256))
			return fail(ENOMEM, "out of memory");
		to->texts[to->nr_texts++] = from->texts[i];
		from->texts[i] = NULL;
	}
	return 0;
}

static uint64_t moved(uint64_t ts, int64_t by)
{
	if (by < 0)
		return ts > (uint64_t)-by ? ts - (uint64_t)-by : 0;
	return ts > UINT64_MAX - (uint64_t)by ? UINT64_MAX : ts + (uint64_t)by;
}

static void move_row(struct span_row *row, int64_t by, const uint32_t *names)
{
	for (size_t i = 0; i < row->nr; i++) {
		row->start[i] = moved(row->start[i], by);
		row->name[i] = names[row->name[i]];
	}
	for (unsigned int level = 0; level < row->nr_levels; level++)
		for (size_t i = 0; i < row->nr_nodes[level]; i++) {
			struct span_node *n = &row->nodes[level][i];

			n->start = moved(n->start, by);
			n->end = moved(n->end, by);
			n->name = names[n->name];
			n->of_longest = names[n->of_longest];
		}
}

static int join_tracks(struct columns *to, struct columns *from, int64_t by, const uint32_t *names)
{
	for (size_t i = 0; i < from->nr_tracks; i++) {
		struct track *t = &from->tracks[i];

		if (ARRAY_ROOM(to->tracks, to->nr_tracks, to->room_tracks, 64))
			return fail(ENOMEM, "out of memory");
		for (uint32_t row = 0; row < t->nr_rows; row++)
			move_row(&t->rows[row], by, names);
		spill_arrays_trim();
		t->file = to->nr_files;
		to->tracks[to->nr_tracks++] = *t;
		t->rows = NULL;
		t->nr_rows = 0;
	}
	return 0;
}

static int join_lost(struct columns *to, const struct columns *from, int64_t by)
{
	for (size_t i = 0; i < from->nr_lost; i++) {
		if (ARRAY_ROOM(to->lost, to->nr_lost, to->room_lost, 64))
			return fail(ENOMEM, "out of memory");
		to->lost[to->nr_lost] = from->lost[i];
		to->lost[to->nr_lost++].ts = moved(from->lost[i].ts, by);
	}
	return 0;
}

/* Append one recording without its events. */
static int join_one(struct columns *to, struct columns *from, int64_t by,
		    struct hash_index *by_name)
{
	uint32_t *names = calloc(from->nr_names + 1, sizeof(*names));
	uint32_t texts = (uint32_t)to->nr_texts, tracks = (uint32_t)to->nr_tracks;
	struct column_events *e = &from->events;
	int err = names ? 0 : fail(ENOMEM, "out of memory");

	err = err ? err : join_names(to, from, by_name, names);
	err = err ? err : join_texts(to, from);
	err = err ? err : join_tracks(to, from, by, names);
	err = err ? err : join_lost(to, from, by);
	for (size_t i = 0; !err && i < e->nr; i++) {
		e->ts[i] = moved(e->ts[i], by);
		e->name[i] = names[e->name[i]];
		e->text[i] += texts;
		e->latency[i] += texts;
		e->track[i] += tracks;
	}
	free(names);
	if (err)
		return err;
	to->first = moved(from->first, by) < to->first ? moved(from->first, by) : to->first;
	to->last = moved(from->last, by) > to->last ? moved(from->last, by) : to->last;
	to->nr_calls += from->nr_calls;
	to->too_deep += from->too_deep;
	to->has_states |= from->has_states;
	to->files[to->nr_files] = from->files[0];
	to->files[to->nr_files++].offset += by;
	from->files[0].vcpus = NULL;
	return 0;
}

/* Merge the events in order of time, and renumber those in rows. */
static int join_events(struct columns *to, struct columns **c, unsigned int nr)
{
	size_t *next = calloc(nr, sizeof(*next));
	uint32_t **numbers = calloc(nr, sizeof(*numbers));
	int err = next && numbers ? 0 : fail(ENOMEM, "out of memory");

	for (unsigned int i = 0; !err && i < nr; i++) {
		numbers[i] = calloc(c[i]->events.nr + 1, sizeof(**numbers));
		err = numbers[i] ? 0 : fail(ENOMEM, "out of memory");
	}
	while (!err) {
		unsigned int best = nr;

		for (unsigned int i = 0; i < nr; i++)
			if (next[i] < c[i]->events.nr &&
			    (best == nr ||
			     c[i]->events.ts[next[i]] < c[best]->events.ts[next[best]]))
				best = i;
		if (best == nr)
			break;
		numbers[best][next[best]] = (uint32_t)to->events.nr;
		err = column_events_add(&to->events, &c[best]->events, next[best]++);
	}
	for (size_t i = 0; !err && i < to->nr_tracks; i++) {
		const struct track *t = &to->tracks[i];

		for (uint32_t row = 0; row < t->nr_rows; row++)
			for (size_t k = 0;
			     (t->kind == TRACK_EVENTS || t->kind == TRACK_CPU_EVENTS) &&
			     k < t->rows[row].nr;
			     k++)
				t->rows[row].extra[k] = numbers[t->file][t->rows[row].extra[k]];
	}
	for (unsigned int i = 0; numbers && i < nr; i++)
		free(numbers[i]);
	free(numbers);
	free(next);
	return err;
}

int columns_join(struct columns **c, unsigned int nr, const int64_t *offsets, struct columns **out)
{
	struct columns *to = calloc(1, sizeof(*to));
	struct hash_index by_name = {0};
	int err;

	if (to)
		to->files = calloc(nr, sizeof(*to->files));
	err = to && to->files ? 0 : fail(ENOMEM, "out of memory");
	if (!err) {
		to->v = c[0]->v;
		to->first = UINT64_MAX;
	}
	for (unsigned int i = 0; !err && i < nr; i++)
		err = join_one(to, c[i], offsets[i], &by_name);
	if (!err)
		err = join_events(to, c, nr);
	hash_index_clear(&by_name);
	for (unsigned int i = 0; i < nr; i++)
		columns_free(c[i]);
	if (err)
		columns_free(to);
	else
		*out = to;
	return err;
}
