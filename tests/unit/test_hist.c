/* SPDX-License-Identifier: MIT */
/*
 * The rows of histograms (engine/events/trigger/hist.c) where another thread takes rows at the same
 * time, and in a fork's child that has no memory for them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/lifecycle.h"
#include "engine/core/context.h"
#include "engine/core/stack.h"
#include "engine/events/trigger/hist_alloc.h"
#include "engine/events/trigger/hist_vars.h"
#include "engine/events/trigger/trigger.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/process/heap.h"
#include "engine/ring/proxy.h"
#include "step.h"

/* An area with room for histograms and nothing else. */
#define ROOM_BYTES (1u << 20)
struct small_area {
	struct area_header head;
	struct area_hist rows[16];
	uint8_t room[ROOM_BYTES] __attribute__((aligned(AREA_HIST_PIECE)));
};

static struct small_area areas[2]; /* the parent's, the child's */
struct trace_array global_trace;
struct ring rings[RING_MAX];
struct area_header *area;
struct event *events;
uint32_t (*ring_context)(void);
uint32_t context_wants;
__thread const struct ring_as *ring_as __attribute__((tls_model("initial-exec")));
__thread struct ring_ctl *ring_ctl[RING_MAX] __attribute__((tls_model("initial-exec")));

static int no_rows;		/* how often memory for rows cannot be had */
static const uint8_t *rows_end; /* what is asked for lies before it */
static uint64_t next_room;

static void use_area(struct small_area *a)
{
	memset(a, 0, sizeof(*a));
	a->head.file_bytes = sizeof(*a);
	*AREA_TABLE(&a->head, AREA_HISTS) = (struct area_table){
		.offset = offsetof(struct small_area, rows),
		.entry_bytes = sizeof(struct area_hist),
		.capacity = 16,
	};
	*AREA_TABLE(&a->head, AREA_HIST_ROOM) = (struct area_table){
		.offset = offsetof(struct small_area, room),
		.entry_bytes = AREA_HIST_PIECE,
		.capacity = ROOM_BYTES / AREA_HIST_PIECE,
	};
	rings[0].area = area = &a->head;
	global_trace.ring = &rings[0];
}

void *heap_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

void heap_free(void *p)
{
	free(p);
}

int area_reserve_in(struct area_header *head, enum area_table_id id, uint32_t count)
{
	(void)head, (void)id, (void)count;
	return 0;
}

const void *area_kept_row(const struct area_header *parent, enum area_table_id id, uint32_t row)
{
	return area_entry_in(parent, id, row);
}

const char *trigger_filter(const struct event_trigger *t)
{
	(void)t;
	return NULL;
}

void *hist_room_at(const struct trace_array *tr, uint64_t at)
{
	return ((struct small_area *)trace_array_area(tr))->room + at;
}

static int is_refused(uint64_t bytes)
{
	return bytes > sizeof(struct area_hist_desc) && no_rows && no_rows--;
}

int hist_room_get(struct trace_array *tr, uint64_t bytes, uint64_t backed, uint64_t *at)
{
	(void)tr, (void)backed;
	if (is_refused(bytes))
		return -ENOSPC;
	next_room += AREA_HIST_PIECE;
	*at = next_room;
	next_room += bytes / AREA_HIST_PIECE * AREA_HIST_PIECE;
	assert_true(next_room + AREA_HIST_PIECE < ROOM_BYTES);
	return 0;
}

int hist_room_again(struct trace_array *tr, uint64_t at, uint64_t bytes, uint64_t backed)
{
	(void)tr, (void)at, (void)backed;
	return is_refused(bytes) ? -ENOSPC : 0;
}

void hist_room_put(struct trace_array *tr, uint64_t at)
{
	(void)tr, (void)at;
}

int hist_room_back(void *from, uint64_t bytes)
{
	assert_true(bytes > 0 && bytes <= (uint64_t)(rows_end - (const uint8_t *)from));
	return 0;
}

struct area_hist *hist_room_row(struct trace_array *tr)
{
	struct area_table *t = AREA_TABLE(trace_array_area(tr), AREA_HISTS);

	return &((struct small_area *)trace_array_area(tr))->rows[t->count++];
}

void hist_room_change(struct area_hist *row)
{
	row->gen |= 1;
}

void hist_room_changed(struct area_hist *row)
{
	row->gen++;
}

void hist_describe(const struct hist *h, const char *filter, struct seq_buf *s)
{
	struct area_hist_desc about = {.bytes = sizeof(about)};

	(void)h, (void)filter;
	memcpy(s->text, &about, sizeof(about));
	s->len = sizeof(about);
}

struct event_file *event_file_find(const struct event *e, const struct trace_array *tr)
{
	(void)tr;
	return e->files;
}

int hist_same(const struct hist *a, const struct hist *b)
{
	(void)a, (void)b;
	return 1;
}

void hist_vars_lay_out(struct hist *h)
{
	(void)h;
}

void hist_vars_free(struct hist *h)
{
	(void)h;
}

void hist_fire_more(struct hist *h, struct hist_map *map, const uint64_t *key, const void *record)
{
	(void)h, (void)map, (void)key, (void)record;
}

uint64_t hist_expr_value(const struct hist *h, const struct hist_expr *e, const void *record,
			 const uint64_t *refs)
{
	(void)h, (void)e, (void)record, (void)refs;
	return 0;
}

const char *hist_clock(const struct hist *h)
{
	return h->clock;
}

uint64_t clock_unit_ns(void)
{
	return 1;
}

uint64_t ring_clock(void)
{
	return 1;
}

uint64_t ring_clock_mono(void)
{
	return 1;
}

uint32_t ring_record_cpu(void)
{
	return 0;
}

int synchronize_srcu(enum srcu_domain d)
{
	(void)d;
	return 0;
}

const char *ring_thread_comm(void)
{
	return "comm";
}

int ring_thread_id(void)
{
	return 1;
}

uint32_t stack_save(uint64_t *to, uint32_t room)
{
	(void)to, (void)room;
	return 0;
}

int stack_start(void)
{
	return 0;
}

static struct event an_event = {.id = 30};
static struct event_file a_file = {.event = &an_event, .tr = &global_trace};
static struct event_trigger triggers[4];

/* Triggers with a histogram each, on one event, as a user's lines make them. */
static void set_up(struct hist *hists, uint32_t nr, const char *name)
{
	uint32_t i;

	use_area(&areas[0]);
	no_rows = 0;
	next_room = 0;
	an_event.files = &a_file;
	events = &an_event;
	a_file.triggers = NULL;
	for (i = 0; i < nr; i++) {
		struct hist *h = &hists[i];
		struct parse_errors errors;

		*h = (struct hist){
			.nr_keys = 1, .nr_vals = 1, .key_bytes = 8, .size = HIST_MIN_SIZE};
		h->keys[0] = (struct hist_field){.from = HIST_FIELD, .offset = 8, .size = 8};
		h->vals[0].from = HIST_HITCOUNT;
		memcpy(h->name, name, strlen(name) + 1);
		assert_int_equal(hist_join(h, &global_trace, &errors), 0);
		assert_int_equal(hist_start(h, &a_file, NULL), 0);
		triggers[i] = (struct event_trigger){.next = a_file.triggers, .hist = h};
		a_file.triggers = &triggers[i];
	}
}

/* The area is a child's. @lacks: how often no memory for rows can be had. */
static void fork_child(int lacks)
{
	use_area(&areas[1]);
	no_rows = lacks;
	lifecycle_fork(
		&(struct lifecycle_fork){.when = LIFECYCLE_FORK_TAKE, .parent = &areas[0].head});
	no_rows = 0;
}

static void count(struct hist *h, uint64_t key)
{
	uint64_t record[2] = {0, key};

	hist_fire(h, record);
}

static uint32_t rows_of(const struct hist *h)
{
	return h->map ? h->map->next : 0;
}

static void one_that_lacks_rows_takes_no_others(void **state)
{
	struct hist h[2];

	(void)state;
	set_up(h, 2, "");
	assert_ptr_not_equal(h[0].map, h[1].map);
	fork_child(2);
	count(&h[0], 1);
	assert_null(h[0].map);
	assert_null(h[1].map);
	/* hist_clear() gives h[0] memory; h[1] does not count into it */
	assert_int_equal(hist_clear(&h[0]), 0);
	assert_null(h[1].map);
	count(&h[0], 1);
	count(&h[1], 1);
	count(&h[1], 2);
	assert_int_equal(rows_of(&h[0]), 1);
	assert_int_equal(h[0].map->users, 1);
	assert_int_equal(hist_clear(&h[1]), 0);
	assert_ptr_not_equal(h[0].map, h[1].map);
}

/* Of @lacks times that rows are asked for. */
static void those_of_one_name_share(int lacks)
{
	struct hist h[3];
	int i;

	set_up(h, 3, "name");
	assert_ptr_equal(h[0].map, h[1].map);
	fork_child(lacks);
	for (i = 1; i < 3; i++)
		assert_ptr_equal(h[0].map, h[i].map);
	assert_int_equal(!h[0].map, lacks == 3);
	assert_int_equal(hist_clear(&h[1]), 0);
	for (i = 0; i < 3; i++) {
		assert_ptr_equal(h[i].map, h[1].map);
		assert_int_equal(h[i].row->map, h[1].map->at);
		count(&h[i], (uint64_t)i);
	}
	assert_int_equal(rows_of(&h[0]), 3);
	assert_int_equal(h[0].map->users, 3);
}

static void those_of_one_name_share_in_a_child_too(void **state)
{
	int lacks;

	(void)state;
	for (lacks = 0; lacks <= 3; lacks++)
		those_of_one_name_share(lacks);
}

/* The others have taken all rows that have memory, and more, which got some. */
struct racing {
	struct hist h;
	uint64_t at;
	int done;
};

static void count_one(void *arg)
{
	struct racing *r = arg;

	count(&r->h, 1000);
}

static void advance(void *arg, uint64_t n)
{
	struct racing *r = arg;

	if (n != r->at)
		return;
	r->done = 1;
	__atomic_store_n(&r->h.map->next, r->h.map->nr_rows - 2, __ATOMIC_RELAXED);
	__atomic_store_n(&r->h.map->backed, r->h.map->nr_rows, __ATOMIC_RELAXED);
}

static void memory_is_asked_for_as_far_as_it_is_missing(void **state)
{
	struct racing r = {.at = 0};
	struct hist_map *m;

	(void)state;
	do {
		uint32_t first;

		set_up(&r.h, 1, "");
		m = r.h.map;
		rows_end = m->rows + (uint64_t)m->nr_rows * m->row_bytes;
		/* what is backed is given out */
		first = m->backed = m->nr_rows / 4;
		m->next = first;
		r.done = 0;
		step_through(count_one, &r, advance, &r);
		assert_true(rows_of(&r.h) > first);
		assert_true(m->backed > first);
		r.at++;
	} while (r.done);
	assert_true(r.at > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_lacks_rows_takes_no_others),
		cmocka_unit_test(those_of_one_name_share_in_a_child_too),
		cmocka_unit_test(memory_is_asked_for_as_far_as_it_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
