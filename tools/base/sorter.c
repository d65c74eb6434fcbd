/* SPDX-License-Identifier: MIT */
#include "tools/base/sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define RUN_BYTES (1u << 16)

/* Sorted records: in the file; records of the last run may be in memory. */
struct sorter_run {
	uint64_t offset, nr; /* in the file; records */
	uint64_t at, mark;   /* the next record, and the remembered one */
	char *buf;
	uint64_t first; /* in buf: the record's number in the run */
	size_t nr_buf;
};

void sorter_init(struct sorter *s, size_t bytes, int (*compare)(const void *, const void *),
		 size_t memory, const char *beside)
{
	*s = (struct sorter){.bytes = bytes, .compare = compare, .max_buf = memory / bytes};
	spill_init(&s->file, 0, beside);
}

void sorter_clear(struct sorter *s)
{
	for (size_t i = 0; i < s->nr_runs; i++)
		if (s->runs[i].buf != s->buf)
			free(s->runs[i].buf);
	free(s->runs);
	free(s->heap);
	free(s->buf);
	spill_clear(&s->file);
	*s = (struct sorter){0};
}

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory to sort the records");
}

static struct sorter_run *add_run(struct sorter *s)
{
	if (ARRAY_ROOM(s->runs, s->nr_runs, s->room_runs, 16)) {
		no_memory();
		return NULL;
	}
	s->runs[s->nr_runs] = (struct sorter_run){.offset = spill_end(&s->file), .nr = s->nr_buf};
	return &s->runs[s->nr_runs++];
}

static int spill(struct sorter *s)
{
	int err;

	if (!add_run(s))
		return -ENOMEM;
	qsort(s->buf, s->nr_buf, s->bytes, s->compare);
	err = spill_add(&s->file, s->buf, s->nr_buf * s->bytes);
	s->nr_buf = 0;
	return err;
}

int sorter_add(struct sorter *s, const void *rec)
{
	if (s->nr_buf == s->room_buf) {
		size_t room = s->room_buf ? 2 * s->room_buf : 1024;
		char *more;

		if (room > s->max_buf)
			room = s->max_buf;
		if (s->room_buf == s->max_buf) {
			int err = spill(s);

			if (err)
				return err;
		} else {
			more = reallocarray(s->buf, room, s->bytes);
			if (!more)
				return no_memory();
			s->buf = more;
			s->room_buf = room;
		}
	}
	memcpy(s->buf + s->nr_buf++ * s->bytes, rec, s->bytes);
	s->nr++;
	return 0;
}

/* The record of a run that comes next; NULL at its end, or with s->err. */
static const void *run_peek(struct sorter *s, struct sorter_run *r)
{
	size_t room = RUN_BYTES / s->bytes ? RUN_BYTES / s->bytes : 1, want;

	if (s->err || r->at == r->nr)
		return NULL;
	if (r->buf && r->at >= r->first && r->at - r->first < r->nr_buf)
		return r->buf + (r->at - r->first) * s->bytes;
	if (!r->buf)
		r->buf = reallocarray(NULL, room, s->bytes);
	if (!r->buf) {
		s->err = no_memory();
		return NULL;
	}
	want = r->nr - r->at < room ? (size_t)(r->nr - r->at) : room;
	s->err = spill_get(&s->file, r->offset + r->at * s->bytes, r->buf, want * s->bytes);
	if (s->err)
		return NULL;
	r->first = r->at;
	r->nr_buf = want;
	return r->buf;
}

/* Is run @a's record before run @b's? Both have one. */
static bool is_before(struct sorter *s, uint32_t a, uint32_t b)
{
	const void *x = run_peek(s, &s->runs[a]), *y = run_peek(s, &s->runs[b]);

	return x && y && s->compare(x, y) < 0;
}

static void sift_down(struct sorter *s, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < s->nr_heap; i = child) {
		uint32_t run = s->heap[i];

		if (child + 1 < s->nr_heap && is_before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!is_before(s, s->heap[child], run))
			break;
		s->heap[i] = s->heap[child];
		s->heap[child] = run;
	}
}

static int make_heap(struct sorter *s)
{
	s->nr_heap = 0;
	for (size_t i = 0; i < s->nr_runs; i++)
		if (run_peek(s, &s->runs[i]))
			s->heap[s->nr_heap++] = (uint32_t)i;
	for (size_t i = s->nr_heap; i-- > 0;)
		sift_down(s, i);
	return s->err;
}

int sorter_end(struct sorter *s)
{
	struct sorter_run *last = NULL;

	if (s->nr_runs && s->nr_buf) {
		/* all are in the file, and the buffer's memory is free for what follows */
		int err = spill(s);

		if (err)
			return err;
	}
	if (s->nr_runs) {
		free(s->buf);
		s->buf = NULL;
	} else if (s->nr_buf) {
		qsort(s->buf, s->nr_buf, s->bytes, s->compare);
		last = add_run(s);
		if (!last)
			return -ENOMEM;
		last->buf = s->buf;
		last->nr_buf = s->nr_buf;
	}
	s->heap = calloc(s->nr_runs + 1, sizeof(*s->heap));
	return s->heap ? make_heap(s) : no_memory();
}

/* The record that sorter_next() gave is used up; until here it was borrowed. */
static void use_up(struct sorter *s)
{
	struct sorter_run *r;

	if (!s->taken)
		return;
	s->taken = false;
	r = &s->runs[s->heap[0]];
	if (++r->at == r->nr)
		s->heap[0] = s->heap[--s->nr_heap];
	sift_down(s, 0);
}

const void *sorter_peek(struct sorter *s)
{
	use_up(s);
	return s->nr_heap && !s->err ? run_peek(s, &s->runs[s->heap[0]]) : NULL;
}

const void *sorter_next(struct sorter *s)
{
	const void *rec = sorter_peek(s);

	s->taken = rec != NULL;
	return rec;
}

void sorter_mark(struct sorter *s)
{
	use_up(s);
	for (size_t i = 0; i < s->nr_runs; i++)
		s->runs[i].mark = s->runs[i].at;
}

int sorter_back(struct sorter *s)
{
	s->taken = false;
	for (size_t i = 0; i < s->nr_runs; i++)
		s->runs[i].at = s->runs[i].mark;
	return make_heap(s);
}
