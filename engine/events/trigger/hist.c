/* SPDX-License-Identifier: MIT */
/*
 * The life of a histogram: its rows, the sharing of rows by histograms of one name, its
 * description, and its row in the area's table. hist_count.c counts. Control context. Rows are in
 * the area (abi/area.h) and get memory when they are first used. fork: the child has the same
 * histograms, empty. Tests: tests/engine/events/hist.
 */
#include "engine/events/trigger/hist.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/process/heap.h"
#include "engine/core/stack.h"
#include "engine/events/trigger/hist_vars.h"
#include "engine/events/trigger/hist_alloc.h"
#include "engine/events/trigger/trigger.h"

#define MAX_ABOUT_BYTES 65536u

/* Set the offsets of all that a row has. */
static void lay_out(struct hist *h)
{
	h->key_at = (uint32_t)sizeof(struct hist_row) + 8 * h->nr_vals;
	h->comm_at = h->key_at + h->key_bytes;
	h->extra_at = h->comm_at + (h->execname ? 16 : 0);
	hist_vars_lay_out(h);
}

static uint64_t rows_at(const struct hist_map *m)
{
	return (sizeof(struct area_hist_map) + (uint64_t)m->nr_slots * sizeof(*m->slots) + 63) &
	       ~UINT64_C(63);
}

static uint64_t map_bytes(const struct hist_map *m)
{
	return rows_at(m) + (uint64_t)m->nr_rows * m->row_bytes;
}

/* The bytes that get memory at the beginning: all slots, and some rows. */
static uint64_t first_bytes(const struct hist_map *m)
{
	uint64_t rows = map_bytes(m) - rows_at(m);

	return rows_at(m) + (rows < HIST_GROW_BYTES ? rows : HIST_GROW_BYTES);
}

/* Fill in the head of a map, whose memory is backed and zero. */
static void set_up_map(const struct trace_array *tr, struct hist_map *m)
{
	m->shown = hist_room_at(tr, m->at);
	m->slots = (uint32_t *)(m->shown + 1);
	m->rows = (uint8_t *)m->shown + rows_at(m);
	m->backed = (uint32_t)((first_bytes(m) - rows_at(m)) / m->row_bytes);
	*m->shown = (struct area_hist_map){
		.nr_slots = m->nr_slots,
		.nr_rows = m->nr_rows,
		.row_bytes = m->row_bytes,
		.slots_at = sizeof(struct area_hist_map),
		.rows_at = rows_at(m),
	};
}

static int new_map(const struct hist *h, struct hist_map **out)
{
	struct hist_map *m = heap_alloc(sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->nr_rows = h->size;
	m->nr_slots = h->size * 2;
	m->row_bytes = h->extra_at + h->extra_bytes;
	err = hist_room_get(h->tr, map_bytes(m), first_bytes(m), &m->at);
	if (err) {
		heap_free(m);
		return err;
	}
	set_up_map(h->tr, m);
	*out = m;
	return 0;
}

static void free_map(struct trace_array *tr, struct hist_map *m)
{
	if (!m || --m->users)
		return;
	hist_room_put(tr, m->at);
	heap_free(m);
}

/* Write the description into the area. */
static int put_about(struct hist *h, const char *filter)
{
	char *text = heap_alloc(MAX_ABOUT_BYTES);
	struct seq_buf s;
	int err = -ENOMEM;

	if (!text)
		return -ENOMEM;
	seq_init(&s, text, MAX_ABOUT_BYTES);
	hist_describe(h, filter, &s);
	if (!s.lost)
		err = hist_room_get(h->tr, s.len, s.len, &h->about);
	if (!err)
		memcpy(hist_room_at(h->tr, h->about), text, s.len);
	heap_free(text);
	return err;
}

static void each_hist(struct trace_array *tr, void (*with)(struct hist *h, void *arg), void *arg)
{
	const struct event_file *f;
	struct event_trigger *t;
	const struct event *e;

	for (e = events; e; e = e->next) {
		f = event_file_find(e, tr);
		for (t = f ? f->triggers : NULL; t; t = t->next)
			if (t->hist)
				with(t->hist, arg);
	}
}

struct joining {
	struct hist *h, *found;
};

static void find_named(struct hist *h, void *arg)
{
	struct joining *j = arg;

	if (!j->found && h->row && str_equal(h->name, j->h->name))
		j->found = h;
}

static void find_rows(struct hist *h, void *arg)
{
	if (h->map)
		find_named(h, arg);
}

int hist_join(struct hist *h, struct trace_array *tr, struct parse_errors *errors)
{
	struct joining j = {.h = h};

	if (h->name[0])
		each_hist(tr, find_named, &j);
	if (j.found && !hist_same(j.found, h)) {
		*errors = (struct parse_errors){
			1,
			{{"Named hist trigger doesn't match existing named trigger (includes "
			  "variables)",
			  h->name_at}}};
		return -EINVAL;
	}
	if (j.found && j.found->map) {
		h->tr = tr;
		h->map = j.found->map;
		h->map->users++;
	}
	return 0;
}

/* For histograms of one name, which count into the same rows: give all of them the map. */
struct lending {
	const struct hist *h;
	struct hist_map *map;
	struct hist_map *old; /* their rows before; NULL: a fork's child had no memory for them */
};

static void lend(struct hist *h, void *arg)
{
	struct lending *l = arg;

	if (!h->row || (h != l->h && !(h->name[0] && str_equal(h->name, l->h->name))))
		return;
	if (h->map)
		l->old = h->map;
	hist_room_change(h->row);
	store_release(&h->map, l->map);
	l->map->users++;
	h->row->map = l->map->at;
	h->row->since_ns = ring_clock_mono();
	hist_room_changed(h->row);
}

/* Make its first rows, also for other histograms of its name that have none. */
static int make_rows(struct hist *h)
{
	struct lending l = {.h = h};
	int err = new_map(h, &l.map);

	if (err)
		return err;
	h->map = l.map;
	h->map->users = 1;
	each_hist(h->tr, lend, &l);
	return 0;
}

uint64_t hist_unit_ns;
static int (*set_clock)(struct trace_array *tr, const char *name, size_t n);

void hists_set_clock_by(int (*set)(struct trace_array *tr, const char *name, size_t n))
{
	set_clock = set;
}

int hist_use_clock(const struct hist *h, struct trace_array *tr, struct parse_errors *errors)
{
	const char *name = hist_clock(h);
	int err = h->has_time && set_clock ? set_clock(tr, name, strlen(name)) : 0;

	if (err)
		*errors = (struct parse_errors){1, {{"Couldn't set trace_clock", h->clock_at}}};
	return err;
}

int hist_start(struct hist *h, const struct event_file *f, const char *filter)
{
	static uint64_t order;
	int err;

	h->tr = f->tr;
	lay_out(h);
	/* of another event with a field of that name: a row has no room for its text */
	if (h->map && h->map->row_bytes != h->extra_at + h->extra_bytes)
		return -EINVAL;
	err = h->has_stack ? stack_start() : 0;
	if (h->has_time && !hist_unit_ns)
		hist_unit_ns = clock_unit_ns();
	if (!err)
		err = put_about(h, filter);
	if (!err && !h->map)
		err = make_rows(h);
	if (!err) {
		h->row = hist_room_row(h->tr);
		err = h->row ? 0 : -ENOSPC;
	}
	if (err)
		return err;
	hist_room_change(h->row);
	h->row->paused = (uint8_t)h->paused;
	h->row->order = ++order;
	h->row->about = h->about;
	h->row->since_ns = ring_clock_mono();
	h->row->map = h->map->at;
	h->row->event = f->event->id;
	hist_room_changed(h->row);
	h->tr->nr_hists_of_time += h->has_time;
	return 0;
}

void hist_stop(struct hist *h)
{
	if (!h->row)
		return;
	h->tr->nr_hists_of_time -= h->has_time;
	hist_room_change(h->row);
	h->row->event = 0;
	hist_room_changed(h->row);
	h->row = NULL;
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	hist_stop(h);
	hist_vars_free(h);
	free_map(h->tr, h->map);
	if (h->about)
		hist_room_put(h->tr, h->about);
	heap_free(h);
}

int hist_clear(struct hist *h)
{
	struct lending l = {.h = h};
	int err = new_map(h, &l.map);

	if (err)
		return err;
	each_hist(h->tr, lend, &l);
	if (l.old && !ring_synchronize()) {
		l.old->users = 1;
		free_map(h->tr, l.old);
	}
	return 0;
}

void hist_pause(struct hist *h, int paused)
{
	store_relaxed(&h->paused, (uint32_t)paused);
	if (h->row)
		store_relaxed(&h->row->paused, (uint8_t)paused);
}

int hist_paused(const struct hist *h)
{
	return (int)load_relaxed(&h->paused);
}

static int is_in(const struct area_header *head, const void *p)
{
	return (const uint8_t *)p >= (const uint8_t *)head &&
	       (const uint8_t *)p < (const uint8_t *)head + head->file_bytes;
}

/*
 * Map the rows where they were in the parent's area. If several histograms share them, the first
 * one sets them up.
 */
static int fork_map(const struct hist *h, struct hist_map *m)
{
	uint32_t i;
	int err;

	if (is_in(trace_array_area(h->tr), m->shown))
		return 0;
	err = hist_room_again(h->tr, m->at, map_bytes(m), first_bytes(m));
	if (err)
		return err;
	m->next = 0;
	for (i = 0; i < HIST_SPARES; i++)
		m->spares[i] = 0;
	set_up_map(h->tr, m);
	return 0;
}

/* Write the description and the row of AREA_HISTS. Return: whether there is memory for them. */
static int fork_row(struct hist *h, const struct area_hist *was, uint32_t index, const char *filter)
{
	struct area_header *head = trace_array_area(h->tr);

	if (area_reserve_in(head, AREA_HISTS, index + 1))
		return 0;
	if (AREA_TABLE(head, AREA_HISTS)->count <= index)
		AREA_TABLE(head, AREA_HISTS)->count = index + 1;
	hist_room_put(h->tr, h->about);
	h->about = 0;
	if (put_about(h, filter)) {
		h->about = 0;
		return 0;
	}
	h->row = area_entry_in(head, AREA_HISTS, index);
	*h->row = *was;
	h->row->about = h->about;
	h->row->gen = 0;
	return 1;
}

static void fork_one(struct hist *h, uint32_t index, const struct area_header *parent,
		     const char *filter)
{
	const struct area_hist *was = area_kept_row(parent, AREA_HISTS, index);
	struct hist_map *m = h->map;

	h->row = NULL;
	h->map = NULL;
	if (was && fork_row(h, was, index, filter)) {
		if (m && !fork_map(h, m))
			h->map = m;
		h->row->map = h->map ? m->at : 0;
	}
	if (!h->map)
		free_map(h->tr, m);
}

/* A histogram without rows takes the rows of another one of its name for which there was memory. */
static void fork_name(struct event_trigger *t, const struct area_header *parent)
{
	struct hist *h = t->hist;
	struct joining j = {.h = h};

	(void)parent;
	if (!h->row || h->map || !h->name[0])
		return;
	each_hist(h->tr, find_rows, &j);
	if (!j.found)
		return;
	h->map = j.found->map;
	h->map->users++;
	h->row->map = h->map->at;
}

/* The child does not have this histogram's instance: the instance's area must not be accessed. */
static void leave_one(struct hist *h)
{
	h->row = NULL;
	h->map = NULL;
	h->about = 0;
}

static void fork_hist(struct event_trigger *t, const struct area_header *top)
{
	const struct area_header *parent = top;
	struct hist *h = t->hist;

	if (!h->tr->ring) {
		leave_one(h);
		return;
	}
	if (!trace_array_is_top(h->tr))
		parent = h->tr->forked_from;
	if (h->row)
		fork_one(h,
			 (uint32_t)(h->row -
				    (const struct area_hist *)area_entry_in(parent, AREA_HISTS, 0)),
			 parent, trigger_filter(t));
}

static void each_forked(void (*with)(struct event_trigger *t, const struct area_header *parent),
			const struct area_header *parent)
{
	struct event_trigger *t;
	struct event_file *f;
	struct event *e;

	for (e = events; e; e = e->next)
		for (f = e->files; f; f = f->next)
			for (t = f->triggers; t; t = t->next)
				if (t->hist)
					with(t, parent);
}

/* In a child that has an area and rings of its own: its histograms begin empty. */
static void hists_fork(const struct lifecycle_fork *f)
{
	if (f->when != LIFECYCLE_FORK_TAKE)
		return;
	each_forked(fork_hist, f->parent);
	each_forked(fork_name, f->parent);
}

LIFECYCLE(LIFECYCLE_SYSTEM, NULL, hists_fork, NULL);
