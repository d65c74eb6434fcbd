/* SPDX-License-Identifier: MIT */
/* Columns without a reader: their order, their outline, their end. See columns.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/spill_array.h"
#include "tools/view/columns.h"

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static bool of_cpu(const struct track *t)
{
	return t->kind == TRACK_CPU || t->kind == TRACK_CPU_EVENTS;
}

static int64_t by(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* The order of struct columns.tracks, for qsort(). */
static int track_order(const void *a_, const void *b_)
{
	const struct track *a = a_, *b = b_;
	int64_t ret = by(!of_cpu(a), !of_cpu(b));

	ret = ret ? ret : by(a->is_other, b->is_other);
	ret = ret ? ret : by(a->pid ? a->pid : a->id, b->pid ? b->pid : b->id);
	ret = ret ? ret : by(a->id, b->id);
	ret = ret ? ret : by(a->process, b->process);
	ret = ret ? ret : by(a->kind, b->kind);
	return (int)(ret ? ret : by(a->stack, b->stack));
}

/* Where a recording begins in the middle of calls, the outermost depths have no calls. */
static void drop_empty_rows(struct track *t)
{
	uint32_t empty = 0;

	while (empty < t->nr_rows && !t->rows[empty].nr)
		empty++;
	memmove(t->rows, t->rows + empty, (t->nr_rows - empty) * sizeof(*t->rows));
	t->nr_rows -= empty;
}

/* Set the track of each event. The tracks are in order. */
static void number_threads(struct columns *c)
{
	for (uint32_t i = 0; i < c->nr_tracks; i++) {
		const struct track *t = &c->tracks[i];

		for (size_t k = 0; t->kind == TRACK_EVENTS && t->nr_rows && k < t->rows[0].nr; k++)
			c->events.track[t->rows[0].extra[k]] = i;
	}
}

static bool is_of_calls(const struct track *t)
{
	return t->kind == TRACK_CALLS || t->kind == TRACK_STATES;
}

static int32_t process_of_track(const struct track *t)
{
	return t->kind == TRACK_CPU || t->kind == TRACK_CPU_EVENTS ? -1 : t->pid ? t->pid : t->id;
}

/* Processes that have events alone come behind the others. The tracks are in order. */
static void order_others(struct columns *c)
{
	bool any = false, has = false;
	size_t begin = 0;

	for (size_t i = 0; i < c->nr_tracks; i++) {
		int32_t process = process_of_track(&c->tracks[i]);

		any |= has |= is_of_calls(&c->tracks[i]);
		if (i + 1 < c->nr_tracks && process_of_track(&c->tracks[i + 1]) == process)
			continue;
		for (; begin <= i; begin++)
			c->tracks[begin].is_other = process >= 0 && !has;
		has = false;
	}
	if (any)
		qsort(c->tracks, c->nr_tracks, sizeof(*c->tracks), track_order);
}

int columns_finish(struct columns *c)
{
	int ret = 0;

	if (c->first > c->last)
		return fail(ENODATA, "'%s' has nothing to be shown", c->v->path);
	qsort(c->tracks, c->nr_tracks, sizeof(*c->tracks), track_order);
	order_others(c);
	number_threads(c);
	for (size_t i = 0; i < c->nr_tracks; i++) {
		drop_empty_rows(&c->tracks[i]);
		for (uint32_t row = 0; row < c->tracks[i].nr_rows && !ret; row++)
			ret = span_row_finish(&c->tracks[i].rows[row]);
		spill_arrays_trim();
	}
	return ret;
}

static int copy_text(char **to, const char *text)
{
	*to = text ? strdup(text) : NULL;
	return text && !*to ? no_memory() : 0;
}

static int outline_names(const struct columns *c, struct columns *to)
{
	int err = 0;

	to->names = calloc(c->nr_names + 1, sizeof(*to->names));
	if (!to->names)
		return no_memory();
	for (; to->nr_names < c->nr_names && !err; to->nr_names++) {
		const struct column_name *from = &c->names[to->nr_names];
		struct column_name *name = &to->names[to->nr_names];

		name->ip = from->ip;
		err = copy_text(&name->text, from->text);
		err = err ? err : copy_text(&name->object, from->object);
		err = err ? err : copy_text(&name->place, from->place);
	}
	return err;
}

int columns_own_text(struct columns *c, const char *text, size_t bytes, const char **out)
{
	char *copy = strndup(text, bytes);

	if (!copy || ARRAY_ROOM(c->texts, c->nr_texts, c->room_texts, 64)) {
		free(copy);
		return no_memory();
	}
	c->texts[c->nr_texts++] = copy;
	*out = copy;
	return 0;
}

static int outline_track(const struct track *t, struct columns *to)
{
	struct track *copy = &to->tracks[to->nr_tracks];
	uint32_t row = 0;
	int err;

	*copy = *t;
	copy->rows = calloc(t->nr_rows + 1u, sizeof(*copy->rows));
	copy->nr_rows = copy->room_rows = 0;
	to->nr_tracks++;
	err = copy->rows ? columns_own_text(to, t->name, strlen(t->name), &copy->name)
			 : no_memory();
	err = err ? err : columns_own_text(to, t->buffer, strlen(t->buffer), &copy->buffer);
	while (row < t->nr_rows && !t->rows[row].nr)
		row++;
	for (; row < t->nr_rows && !err; row++)
		err = span_row_outline(&t->rows[row], &copy->rows[copy->nr_rows++]);
	return err;
}

int columns_outline(const struct columns *c, struct columns **out)
{
	struct columns *to = calloc(1, sizeof(*to));
	int err;

	if (!to)
		return no_memory();
	*to = (struct columns){.v = c->v,
			       .outline = true,
			       .first = c->first,
			       .last = c->last,
			       .nr_calls = c->nr_calls,
			       .too_deep = c->too_deep,
			       .has_states = c->has_states,
			       .events.nr = c->events.nr,
			       .nr_lost = c->nr_lost,
			       .nr_files = c->nr_files};
	to->files = calloc(c->nr_files + 1u, sizeof(*to->files));
	to->lost = calloc(c->nr_lost + 1, sizeof(*to->lost));
	to->tracks = calloc(c->nr_tracks + 1, sizeof(*to->tracks));
	err = to->files && to->lost && to->tracks ? outline_names(c, to) : no_memory();
	if (!err) {
		for (uint32_t i = 0; i < c->nr_files; i++)
			to->files[i] = (struct column_file){.path = c->files[i].path,
							    .offset = c->files[i].offset};
		if (c->nr_lost)
			memcpy(to->lost, c->lost, c->nr_lost * sizeof(*to->lost));
	}
	for (size_t i = 0; i < c->nr_tracks && !err; i++)
		err = outline_track(&c->tracks[i], to);
	if (err) {
		columns_free(to);
		return err;
	}
	qsort(to->tracks, to->nr_tracks, sizeof(*to->tracks), track_order);
	*out = to;
	return 0;
}

void columns_free(struct columns *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nr_tracks; i++) {
		for (uint32_t row = 0; row < c->tracks[i].nr_rows; row++)
			span_row_clear(&c->tracks[i].rows[row]);
		free(c->tracks[i].rows);
	}
	for (size_t i = 0; !c->parent && i < c->nr_names; i++) {
		free(c->names[i].text);
		free(c->names[i].object);
		free(c->names[i].place);
	}
	for (size_t i = 0; !c->parent && i < c->nr_texts; i++)
		free(c->texts[i]);
	free(c->tracks);
	free(c->index);
	if (!c->parent) {
		free(c->names);
		free(c->texts);
		free(c->lost);
		for (uint32_t i = 0; c->files && i < c->nr_files; i++)
			free(c->files[i].vcpus);
		free(c->files);
	}
	spill_array_free(c->events.ts);
	spill_array_free(c->events.cpu);
	spill_array_free(c->events.tid);
	spill_array_free(c->events.name);
	spill_array_free(c->events.text);
	spill_array_free(c->events.latency);
	spill_array_free(c->events.track);
	free(c);
}
