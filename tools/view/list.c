/* SPDX-License-Identifier: MIT */
/* See list.h. Tests: tests/cli/test_view.py. */
#include "tools/view/list.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

/* A source of the list, in order of time: the events, or a row of calls. */
struct source {
	const uint64_t *start;
	size_t nr, next;
	uint32_t track, row;
};

struct list {
	const struct columns *c;
	struct source *sources; /* [0]: the events */
	size_t nr;
};

uint64_t list_length(const struct columns *c)
{
	return c->events.nr + c->nr_calls;
}

struct list *list_new(const struct columns *c)
{
	struct list *l = calloc(1, sizeof(*l));
	size_t nr = 1;

	for (size_t i = 0; i < c->nr_tracks; i++)
		nr += c->tracks[i].kind == TRACK_CALLS ? c->tracks[i].nr_rows : 0;
	if (l)
		l->sources = calloc(nr, sizeof(*l->sources));
	if (!l || !l->sources) {
		free(l);
		fail(ENOMEM, "out of memory");
		return NULL;
	}
	l->c = c;
	l->sources[l->nr++] = (struct source){.start = c->events.ts, .nr = c->events.nr};
	for (uint32_t i = 0; i < c->nr_tracks; i++)
		for (uint32_t row = 0;
		     c->tracks[i].kind == TRACK_CALLS && row < c->tracks[i].nr_rows; row++)
			l->sources[l->nr++] = (struct source){.start = c->tracks[i].rows[row].start,
							      .nr = c->tracks[i].rows[row].nr,
							      .track = i,
							      .row = row};
	return l;
}

void list_free(struct list *l)
{
	if (l)
		free(l->sources);
	free(l);
}

static size_t nr_before(const struct source *s, uint64_t ts)
{
	return LOWER_BOUND(i, 0, s->nr, s->start[i] < ts);
}

uint64_t list_number(const struct list *l, uint64_t ts)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < l->nr; i++)
		nr += nr_before(&l->sources[i], ts);
	return nr;
}

void list_seek(struct list *l, uint64_t at)
{
	/* the last time before which no more than @at begin */
	uint64_t low =
		LOWER_BOUND(ts, l->c->first + 1, l->c->last + 1, list_number(l, ts) <= at) - 1;
	uint64_t skip;
	struct list_entry e;

	for (size_t i = 0; i < l->nr; i++)
		l->sources[i].next = nr_before(&l->sources[i], low);
	for (skip = list_number(l, low); skip < at && list_next(l, &e); skip++)
		;
}

bool list_next(struct list *l, struct list_entry *e)
{
	struct source *best = NULL;

	for (size_t i = 0; i < l->nr; i++) {
		struct source *s = &l->sources[i];

		if (s->next < s->nr && (!best || s->start[s->next] < best->start[best->next]))
			best = s;
	}
	if (!best)
		return false;
	*e = (struct list_entry){.start = best->start[best->next],
				 .is_event = best == l->sources,
				 .track = best->track,
				 .row = best->row,
				 .nr = best->next++};
	if (e->is_event) {
		e->name = l->c->events.name[e->nr];
		e->cpu = l->c->events.cpu[e->nr];
		e->track = l->c->events.track[e->nr];
	} else {
		const struct span_row *row = &l->c->tracks[e->track].rows[e->row];

		e->length = row->length[e->nr];
		e->name = row->name[e->nr];
		e->cpu = row->extra[e->nr];
	}
	return true;
}
