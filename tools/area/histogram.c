/* SPDX-License-Identifier: MIT */
/*
 * See histogram.h. A row of AREA_HISTS is read before and after its data; if its `gen` was odd or
 * has changed, all of it is read again. Slots are read before rows: a row to which a slot points is
 * complete. Tests: tests/engine/events/hist, tests/fuzz/area.c.
 */
#include "tools/area/histogram.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/read_at.h"

#define MAX_ABOUT_BYTES (1u << 20)
#define MAX_SLOTS	(1u << 22)
#define MAX_ROW_BYTES	(1u << 16)
#define MAX_ROOM_BYTES	(UINT64_C(1) << 29)
#define COMM_BYTES	16u
#define TRIES		50

/* The area that is read. */
struct source {
	int fd;
	uint64_t room_at, room_bytes;
	const char *what;
};

static int damaged(const struct source *s)
{
	return fail(EINVAL, "%s is damaged: a histogram in it", s->what);
}

static int read_room(const struct source *s, void *buf, uint64_t bytes, uint64_t at)
{
	if (at > s->room_bytes || bytes > s->room_bytes - at)
		return damaged(s);
	return read_at_or_fail(s->fd, buf, (size_t)bytes, s->room_at + at, s->what);
}

/* Check the descriptor: known fields, and names that end with NUL. */
static int take_about(const struct source *s, struct histogram *h)
{
	const struct area_hist_desc *a = h->about;
	uint64_t fields = (uint64_t)a->nr_fields * a->field_bytes;

	if (a->field_bytes < sizeof(*h->fields) || a->field_bytes > MAX_ROW_BYTES ||
	    a->nr_fields > AREA_HIST_MAX_FIELDS || fields > a->bytes - sizeof(*a) ||
	    a->trigger >= a->bytes || a->nr_sorts > AREA_HIST_MAX_SORTS)
		return damaged(s);
	h->trigger = (const char *)a + a->trigger;
	h->nr_fields = a->nr_fields;
	h->fields = calloc(h->nr_fields + 1u, sizeof(*h->fields));
	h->names = calloc(h->nr_fields + 1u, sizeof(*h->names));
	if (!h->fields || !h->names)
		return fail(ENOMEM, "out of memory for a histogram");
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		memcpy(&h->fields[i], (const char *)a->fields + (size_t)i * a->field_bytes,
		       sizeof(*h->fields));
		if (h->fields[i].name >= a->bytes)
			return damaged(s);
		h->names[i] = (const char *)a + h->fields[i].name;
		if (h->fields[i].kind == AREA_HIST_VAL || h->fields[i].kind == AREA_HIST_TRACK)
			h->fields[i].type = AREA_HIST_NUMBER;
	}
	h->nr_sorts = a->nr_sorts;
	for (uint32_t i = 0; i < h->nr_sorts; i++) {
		h->sorts[i] = (struct histogram_sort){a->sorts[i].field, a->sorts[i].descending};
		if (h->sorts[i].field >= h->nr_fields)
			return damaged(s);
	}
	return 0;
}

static int read_about(const struct source *s, uint64_t at, struct histogram *h)
{
	struct area_hist_desc head;
	int err = read_room(s, &head, sizeof(head), at);

	if (err)
		return err;
	if (head.bytes < sizeof(head) || head.bytes > MAX_ABOUT_BYTES)
		return damaged(s);
	h->about = calloc(1, (size_t)head.bytes + 1);
	if (!h->about)
		return fail(ENOMEM, "out of memory for a histogram");
	err = read_room(s, h->about, head.bytes, at);
	h->about->bytes = head.bytes;
	return err ? err : take_about(s, h);
}

/* Do all fields lie inside a row of @row_bytes? */
static int check_fields(const struct source *s, const struct histogram *h, uint32_t row_bytes)
{
	for (uint32_t i = 0; i < h->nr_fields; i++) {
		const struct area_hist_field *f = &h->fields[i];
		bool has_comm = f->comm || f->modifier == AREA_HIST_EXECNAME;

		if (f->at > row_bytes || f->bytes > row_bytes - f->at ||
		    (f->type != AREA_HIST_STRING && f->bytes < sizeof(uint64_t)) ||
		    f->comm > row_bytes || (has_comm && row_bytes - f->comm < COMM_BYTES))
			return damaged(s);
	}
	return 0;
}

/* Read the rows to which slots point, in the order of the slots. */
static int read_rows(const struct source *s, uint64_t at, const struct area_hist_map *map,
		     struct histogram *h)
{
	uint32_t *slots = calloc((size_t)map->nr_slots + 1, sizeof(*slots)), most = 0;
	uint8_t *all = NULL;
	int err;

	if (!slots)
		return fail(ENOMEM, "out of memory for a histogram");
	err = read_room(s, slots, (uint64_t)map->nr_slots * sizeof(*slots), at + map->slots_at);
	for (uint32_t i = 0; i < map->nr_slots && !err; i++)
		if (slots[i] <= map->nr_rows && slots[i] > most)
			most = slots[i];
	if (!err && (uint64_t)most * map->row_bytes >
			    (s->room_bytes < MAX_ROOM_BYTES ? s->room_bytes : MAX_ROOM_BYTES))
		err = damaged(s);
	if (!err) {
		all = malloc((size_t)most * map->row_bytes + 1);
		h->rows = malloc((size_t)most * map->row_bytes + 1);
		err = all && h->rows ? 0 : fail(ENOMEM, "out of memory for a histogram");
	}
	if (!err)
		err = read_room(s, all, (uint64_t)most * map->row_bytes, at + map->rows_at);
	for (uint32_t i = 0; i < map->nr_slots && !err && h->nr_rows < most; i++)
		if (slots[i] && slots[i] <= most)
			memcpy(h->rows + (size_t)h->nr_rows++ * map->row_bytes,
			       all + (size_t)(slots[i] - 1) * map->row_bytes, map->row_bytes);
	if (!err && map->snapshot_row && map->snapshot_row <= most) {
		h->snapshot_value = map->snapshot_value;
		h->snapshot_row = malloc(map->row_bytes);
		if (h->snapshot_row)
			memcpy(h->snapshot_row,
			       all + (size_t)(map->snapshot_row - 1) * map->row_bytes,
			       map->row_bytes);
	}
	free(slots);
	free(all);
	return err;
}

static int read_map(const struct source *s, uint64_t at, struct histogram *h)
{
	struct area_hist_map map;
	int err;

	/* histogram_add() may add rows to it, so it needs a size */
	if (!at)
		return check_fields(s, h, MAX_ROW_BYTES);
	err = read_room(s, &map, sizeof(map), at);
	if (err)
		return err;
	if (map.nr_slots > MAX_SLOTS || !map.row_bytes || map.row_bytes > MAX_ROW_BYTES ||
	    map.slots_at > s->room_bytes || map.rows_at > s->room_bytes)
		return damaged(s);
	h->hits = map.hits;
	h->drops = map.drops;
	h->row_bytes = map.row_bytes;
	err = check_fields(s, h, map.row_bytes);
	return err ? err : read_rows(s, at, &map, h);
}

static void release(struct histogram *h)
{
	free(h->about);
	free(h->fields);
	free(h->names);
	free(h->rows);
	free(h->snapshot_row);
	*h = (struct histogram){0};
}

/* Row @i of AREA_HISTS. Return: 1; 0: it is not one of event @id; -errno. */
static int read_one(const struct source *s, const struct meta *m, uint32_t i, uint16_t id,
		    struct histogram *h)
{
	const struct area_table *t = AREA_TABLE(&m->head, AREA_HISTS);
	struct area_hist row, again;
	int err = 0;

	for (int tries = 0; tries < TRIES; tries++) {
		if (tries)
			poll(NULL, 0, 1);
		err = read_at_or_fail(s->fd, &row, sizeof(row),
				      t->offset + (uint64_t)i * t->entry_bytes, s->what);
		if (err || (!(row.gen & 1) && row.event != id))
			return err;
		if (row.gen & 1)
			continue;
		*h = (struct histogram){
			.order = row.order, .since_ns = row.since_ns, .paused = row.paused};
		err = read_about(s, row.about, h);
		if (!err)
			err = read_map(s, row.map, h);
		if (!read_at_or_fail(s->fd, &again, sizeof(again),
				     t->offset + (uint64_t)i * t->entry_bytes, s->what) &&
		    again.gen == row.gen) {
			if (err)
				release(h);
			return err ? err : 1;
		}
		release(h);
	}
	/* the process died during a change, or changes the row all the time */
	return err;
}

static int by_order(const void *a, const void *b)
{
	const struct histogram *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

/* The id of an event in that area; 0: it has none. */
static uint16_t find_id(const struct meta *m, const char *system, const char *name)
{
	for (uint32_t i = m->nr_events; i--;)
		if (!strcmp(meta_string(m, m->events[i].system), system) &&
		    !strcmp(meta_string(m, m->events[i].name), name))
			return m->events[i].id;
	return 0;
}

int histograms_load(int fd, const struct meta *m, uint64_t bytes, const char *system,
		    const char *name, const char *what, struct histograms *out)
{
	const struct area_table *room = AREA_TABLE(&m->head, AREA_HIST_ROOM);
	const uint32_t nr = AREA_TABLE(&m->head, AREA_HISTS)->count;
	struct source s = {.fd = fd, .room_at = room->offset, .what = what};
	uint16_t id = find_id(m, system, name);
	int ret = 0;

	*out = (struct histograms){0};
	if (!id)
		return -ENOENT;
	if (room->offset <= bytes)
		s.room_bytes = (uint64_t)room->count * AREA_HIST_PIECE;
	if (s.room_bytes > bytes - room->offset)
		s.room_bytes = bytes - room->offset;
	out->at = calloc(nr + 1u, sizeof(*out->at));
	if (!out->at)
		return fail(ENOMEM, "out of memory for histograms");
	for (uint32_t i = 0; i < nr && ret >= 0; i++) {
		ret = read_one(&s, m, i, id, &out->at[out->nr]);
		out->nr += ret > 0;
	}
	qsort(out->at, out->nr, sizeof(*out->at), by_order);
	return ret < 0 ? ret : 0;
}

void histograms_drop(struct histograms *hs, uint32_t i)
{
	release(&hs->at[i]);
	memmove(&hs->at[i], &hs->at[i + 1], (--hs->nr - i) * sizeof(*hs->at));
}

void histograms_free(struct histograms *hs)
{
	for (uint32_t i = 0; i < hs->nr; i++)
		release(&hs->at[i]);
	free(hs->at);
	*hs = (struct histograms){0};
}
