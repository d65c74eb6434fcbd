/* SPDX-License-Identifier: MIT */
#include "tools/export/sorter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define RUN_BYTES (1u << 16)

/* Sorted records: in the file, or, of the last run, in memory. */
struct sorter_run {
	uint64_t offset, nr; /* in the file; records */
	uint64_t at, mark;   /* the next record, and the remembered one */
	char *buf;
	uint64_t first; /* in buf: the record's number in the run */
	size_t nr_buf;
};

int sorter_file(const char *beside)
{
	const char *slash = strrchr(beside, '/'), *tmp = getenv("TMPDIR");
	char folder[PATH_MAX];
	int fd;

	if (!strcmp(beside, "-"))
		snprintf(folder, sizeof(folder), "%s", tmp && *tmp ? tmp : "/tmp");
	else if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - beside + 1), beside);
	else
		strcpy(folder, ".");
	fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* a file system without nameless files */
	if (strlen(folder) + sizeof("/vestige.XXXXXX") > sizeof(folder))
		return fail(ENAMETOOLONG, "%s: the name is too long", folder);
	strcat(folder, "/vestige.XXXXXX");
	fd = mkostemp(folder, O_CLOEXEC);
	if (fd < 0)
		return fail_errno(errno, "cannot make a temporary file %s", folder);
	unlink(folder);
	return fd;
}

void sorter_init(struct sorter *s, size_t bytes, int (*compare)(const void *, const void *),
		 size_t memory, const char *beside)
{
	*s = (struct sorter){.bytes = bytes,
			     .compare = compare,
			     .beside = beside,
			     .max_buf = memory / bytes,
			     .fd = -1};
}

void sorter_clear(struct sorter *s)
{
	for (size_t i = 0; i < s->nr_runs; i++)
		if (s->runs[i].buf != s->buf)
			free(s->runs[i].buf);
	free(s->runs);
	free(s->heap);
	free(s->buf);
	if (s->room_buf && s->fd >= 0) /* all zero: sorter_init() was not called */
		close(s->fd);
	*s = (struct sorter){.fd = -1};
}

static int no_memory(void)
{
	return fail(ENOMEM, "no memory to sort the records");
}

static int write_all(int fd, const char *data, size_t bytes, uint64_t at)
{
	while (bytes) {
		ssize_t n = pwrite(fd, data, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(errno, "cannot write a temporary file");
		data += n;
		at += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static struct sorter_run *add_run(struct sorter *s)
{
	if (ARRAY_ROOM(s->runs, s->nr_runs, s->room_runs, 16)) {
		no_memory();
		return NULL;
	}
	s->runs[s->nr_runs] = (struct sorter_run){.offset = s->file_bytes, .nr = s->nr_buf};
	return &s->runs[s->nr_runs++];
}

static int spill(struct sorter *s)
{
	size_t bytes = s->nr_buf * s->bytes;
	int err;

	if (s->fd < 0) {
		s->fd = sorter_file(s->beside);
		if (s->fd < 0)
			return s->fd;
	}
	qsort(s->buf, s->nr_buf, s->bytes, s->compare);
	err = write_all(s->fd, s->buf, bytes, s->file_bytes);
	if (!err && !add_run(s))
		err = -ENOMEM;
	s->file_bytes += bytes;
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
	ssize_t n;

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
	for (size_t got = 0; got < want * s->bytes; got += (size_t)n) {
		n = pread(s->fd, r->buf + got, want * s->bytes - got,
			  (off_t)(r->offset + r->at * s->bytes + got));
		if (n < 0 && errno == EINTR) {
			n = 0;
			continue;
		}
		if (n <= 0) {
			s->err = n ? fail_errno(errno, "cannot read a temporary file")
				   : fail(EIO, "a temporary file is shorter than was written");
			return NULL;
		}
	}
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
