/* SPDX-License-Identifier: MIT */
/*
 * Counting. The table has a fixed size. A row is complete before one compare-and-store puts its
 * number into a slot, so no thread waits for another, nor a signal handler for the code that it
 * interrupted. If two threads make a row for the same key, the second finds the first one's row and
 * keeps its own for a later key (spares). Values are added atomically, so counts are exact; a
 * record for whose key there is no row is a drop. Any context. Rows lie in the area (abi/area.h)
 * and get their memory when they are first used. fork: the child has the same histograms, empty.
 * Costs: bench "events". Tests: tests/engine/events/hist.
 */
#include "engine/core/context.h"
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
#include "engine/ring/proxy.h"

#define MAX_KEY_WORDS	(HIST_MAX_KEYS * (HIST_MAX_STRING + 8) / 8)
#define MAX_ABOUT_BYTES 65536u
#define GROW_BYTES	65536u

void hist_lay_out(struct hist *h)
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

/* The part that has memory from the beginning: all slots, and some rows. */
static uint64_t first_bytes(const struct hist_map *m)
{
	uint64_t rows = map_bytes(m) - rows_at(m);

	return rows_at(m) + (rows < GROW_BYTES ? rows : GROW_BYTES);
}

/* Its memory is there and zero. */
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

/* How it is shown, where its readers find it. */
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

/* Those of one name count into the same rows. */
struct lending {
	const struct hist *h;
	struct hist_map *map;
	struct hist_map *old; /* what they had; NULL: a fork's child had no memory for it */
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

/* Its first rows, and those of the others of its name if they have none. */
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

static uint64_t unit_ns; /* of the area's clock, times 2^32 */
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
	hist_lay_out(h);
	err = h->has_stack ? stack_start() : 0;
	if (h->has_time && !unit_ns)
		unit_ns = clock_unit_ns();
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
 * Rows where they were in the parent's area. Of those that share them the first one sets them up.
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

/* Write its description, and its row. Return: whether there is memory for them. */
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

/* One without rows has those of another of its name, for which there was memory. */
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

/* Of an instance that the child does not have: its area must not be touched. */
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

/* A child that has an area and rings of its own: its histograms begin anew. */
static void hists_fork(const struct lifecycle_fork *f)
{
	if (f->when != LIFECYCLE_FORK_TAKE)
		return;
	each_forked(fork_hist, f->parent);
	each_forked(fork_name, f->parent);
}

static uint64_t number_of(const struct hist_field *f, const uint8_t *record)
{
	const uint8_t *p = record + f->offset;

	switch (f->size) {
	case 1:
		return f->is_signed ? (uint64_t)(int64_t) * (const int8_t *)p : *p;
	case 2: {
		uint16_t v;

		memcpy(&v, p, 2);
		return f->is_signed ? (uint64_t)(int64_t)(int16_t)v : v;
	}
	case 4:
		return f->is_signed ? (uint64_t)(int64_t) * (const int32_t *)p
				    : *(const uint32_t *)p;
	default:
		return *(const uint64_t *)p;
	}
}

/* As the kernel's: the power of two that is at least as large. */
static uint64_t log2_of(uint64_t v)
{
	uint64_t n = 0;

	if (v > 1)
		for (v--; v; v >>= 1)
			n++;
	return n;
}

/* The time as the instance's trace_clock has it; in us where it has ns and the line asks so. */
static uint64_t time_of(const struct hist *h)
{
	const struct area_buffer *b = trace_array_buffer(h->tr);
	uint64_t ns;

	if (b->trace_clock == AREA_TRACE_X86_TSC)
		return ring_as ? ring_as->stamp : ring_clock();
	if (b->trace_clock == AREA_TRACE_COUNTER)
		return load_relaxed(&h->tr->ring->counter);
	ns = ring_clock_mono() + (uint64_t)b->clock_offset_ns;
	if (unlikely(ring_as != NULL)) /* it happened a while ago */
		ns -= (uint64_t)((unsigned __int128)(ring_clock() - ring_as->stamp) * unit_ns >>
				 32);
	if (b->trace_clock == AREA_TRACE_UPTIME)
		return ns / 10000000;
	return h->in_usecs ? (ns + 500) / 1000 : ns;
}

/* Where the text or the stack of a field begins, and how long it may be. */
static const char *bytes_of(const struct hist_field *f, const uint8_t *record, uint32_t *n)
{
	const char *from = (const char *)record + f->offset;
	uint32_t word;

	*n = f->size;
	if (f->from == HIST_STATIC)
		return from;
	memcpy(&word, from, sizeof(word));
	*n = word >> 16;
	return f->from == HIST_RDYN ? from + 4 + (word & 0xffff)
				    : (const char *)record + (word & 0xffff);
}

static uint64_t raw_value_of(const struct hist *h, const struct hist_field *f,
			     const uint8_t *record, const uint64_t *refs)
{
	uint32_t n;

	switch (f->from) {
	case HIST_FIELD:
		return number_of(f, record);
	case HIST_HITCOUNT:
		return 1;
	case HIST_PID:
		return (uint64_t)ring_thread_id();
	case HIST_CPU:
		return ring_record_cpu();
	case HIST_TIME:
		return time_of(h);
	case HIST_COMMON:
		return f->value;
	case HIST_FLAGS:
		return context_flags();
	case HIST_PREEMPT:
		return context_preempt_count();
	case HIST_EXPR:
		return hist_expr_value(h, f->expr, record, refs);
	case HIST_STACK:
		return 0;
	default: /* text counts as where it lies, as the kernel has it */
		return (uint64_t)(uintptr_t)bytes_of(f, record, &n);
	}
}

uint64_t hist_value(const struct hist *h, const struct hist_field *f, const void *record,
		    const uint64_t *refs)
{
	uint64_t v = raw_value_of(h, f, record, refs);

	if (likely(f->modifier != HIST_LOG2 && f->modifier != HIST_BUCKETS))
		return v;
	return f->modifier == HIST_LOG2 ? log2_of(v) : v / f->buckets * f->buckets;
}

static void copy_string(const struct hist_field *f, const uint8_t *record, char *to)
{
	uint32_t n, i;
	const char *from = bytes_of(f, record, &n);

	if (n > HIST_MAX_STRING)
		n = HIST_MAX_STRING;
	for (i = 0; i < n && from[i]; i++)
		to[i] = from[i];
}

/* Of a field: how many there are, and they. */
static void copy_stack(const struct hist_field *f, const uint8_t *record, uint64_t *to)
{
	const char *from;
	uint64_t nr;
	uint32_t n;

	if (f->from == HIST_STACK) {
		stack_save(to, HIST_MAX_STACK);
		return;
	}
	from = bytes_of(f, record, &n);
	if (n < sizeof(nr))
		return;
	memcpy(&nr, from, sizeof(nr));
	if (nr > n / 8 - 1)
		nr = n / 8 - 1;
	memcpy(to, from + 8, (nr < HIST_MAX_STACK ? nr : HIST_MAX_STACK) * 8);
}

static uint64_t hash_of(const uint64_t *key, uint32_t words)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i;

	for (i = 0; i < words; i++) {
		h = (h ^ key[i]) * UINT64_C(0xbf58476d1ce4e5b9);
		h ^= h >> 29;
	}
	return h;
}

static int same_key(const uint64_t *a, const uint64_t *b, uint32_t words)
{
	uint32_t i;

	for (i = 0; i < words; i++)
		if (a[i] != b[i])
			return 0;
	return 1;
}

static void give_back(struct hist_map *m, uint32_t row)
{
	uint32_t i;

	for (i = 0; i < HIST_SPARES; i++)
		if (!load_relaxed(&m->spares[i]) && compare_and_store(&m->spares[i], 0, row + 1))
			return;
}

/* Give memory to all rows up to @n, and some more. Another thread may do the same at once. */
static int back_rows(struct hist_map *m, uint32_t n)
{
	uint32_t more = GROW_BYTES / m->row_bytes + 1, from = load_relaxed(&m->backed), to;
	int err;

	to = m->nr_rows - n < more ? m->nr_rows : n + more;
	/* others had more meanwhile */
	if (from >= to)
		return 0;
	err = hist_room_back(m->rows + (uint64_t)from * m->row_bytes,
			     (uint64_t)(to - from) * m->row_bytes);
	if (!err)
		store_greater(&m->backed, to);
	return err;
}

/* A free row; UINT32_MAX: there is none. */
static uint32_t take_row(struct hist_map *m)
{
	uint32_t i, n;

	for (i = 0; i < HIST_SPARES; i++) {
		n = load_relaxed(&m->spares[i])
			    ? __atomic_exchange_n(&m->spares[i], 0, __ATOMIC_ACQUIRE)
			    : 0;
		if (n)
			return n - 1;
	}
	n = load_relaxed(&m->next);
	do {
		if (n >= m->nr_rows || (unlikely(n >= load_relaxed(&m->backed)) && back_rows(m, n)))
			return UINT32_MAX;
	} while (!__atomic_compare_exchange_n(&m->next, &n, n + 1, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return n;
}

static void fill(const struct hist *h, struct hist_row *row, const uint64_t *key, uint64_t hash)
{
	row->hash = hash;
	memcpy(hist_row_key(h, row), key, h->key_bytes);
	if (h->execname)
		memcpy((uint8_t *)row + h->comm_at, ring_thread_comm(),
		       strlen(ring_thread_comm()) + 1);
}

struct hist_row *hist_row_find(struct hist *h, const uint64_t *key)
{
	const struct hist_map *m = load_acquire(&h->map);
	uint32_t words = h->key_bytes / 8, mask, tries, i, n;
	uint64_t hash = hash_of(key, words);

	if (!m)
		return NULL;
	mask = m->nr_slots - 1;
	for (tries = 0, i = (uint32_t)(hash >> 32) & mask; tries < m->nr_slots;
	     tries++, i = (i + 1) & mask) {
		struct hist_row *row;

		n = load_acquire(&m->slots[i]);
		if (!n)
			return NULL;
		row = hist_row(m, n - 1);
		if (row->hash == hash && same_key(hist_row_key(h, row), key, words))
			return row;
	}
	return NULL;
}

/* The row of a key, a new one if need be; NULL: there is no room. */
static struct hist_row *find_row(const struct hist *h, struct hist_map *m, const uint64_t *key)
{
	uint32_t words = h->key_bytes / 8, mask = m->nr_slots - 1, own = UINT32_MAX, tries;
	uint64_t hash = hash_of(key, words);
	uint32_t i = (uint32_t)(hash >> 32) & mask;

	for (tries = 0; tries < m->nr_slots; tries++, i = (i + 1) & mask) {
		uint32_t n = load_acquire(&m->slots[i]);
		struct hist_row *row;

		if (!n) {
			if (own == UINT32_MAX)
				own = take_row(m);
			if (own == UINT32_MAX)
				return NULL;
			fill(h, hist_row(m, own), key, hash);
			if (__atomic_compare_exchange_n(&m->slots[i], &n, own + 1, 0,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return hist_row(m, own);
		}
		row = hist_row(m, n - 1);
		if (row->hash == hash && same_key(hist_row_key(h, row), key, words)) {
			if (own != UINT32_MAX)
				give_back(m, own);
			return row;
		}
	}
	if (own != UINT32_MAX)
		give_back(m, own);
	return NULL;
}

struct hist_row *hist_row_get(const struct hist *h, struct hist_map *m, const uint64_t *key)
{
	struct hist_row *row = find_row(h, m, key);

	fetch_add(likely(row != NULL) ? &m->shown->hits : &m->shown->drops, 1);
	return row;
}

void hist_copy_bytes(const struct hist_field *f, const void *record, uint64_t *to)
{
	if (f->modifier == HIST_EXECNAME)
		memcpy(to, ring_thread_comm(), strlen(ring_thread_comm()));
	else if (hist_is_stack(f))
		copy_stack(f, record, to);
	else
		copy_string(f, record, (char *)to);
}

void hist_fire(struct hist *h, const void *record)
{
	uint64_t key[MAX_KEY_WORDS];
	struct hist_map *m;
	struct hist_row *row;
	uint32_t i;

	if (load_relaxed(&h->paused))
		return;
	m = load_acquire(&h->map);
	if (unlikely(!m))
		return;
	for (i = 0; i < h->key_bytes / 8; i++)
		key[i] = 0;
	for (i = 0; i < h->nr_keys; i++) {
		const struct hist_field *f = &h->keys[i];

		if (hist_is_string(f))
			copy_string(f, record, (char *)&key[f->key_at / 8]);
		else if (unlikely(hist_is_stack(f)))
			copy_stack(f, record, &key[f->key_at / 8]);
		else
			key[f->key_at / 8] = hist_value(h, f, record, NULL);
	}
	if (h->more) {
		hist_fire_more(h, m, key, record);
		return;
	}
	row = hist_row_get(h, m, key);
	if (unlikely(!row))
		return;
	for (i = 0; i < h->nr_vals; i++)
		fetch_add(&row->vals[i], hist_value(h, &h->vals[i], record, NULL));
}

LIFECYCLE(LIFECYCLE_SYSTEM, NULL, hists_fork, NULL);
