/* SPDX-License-Identifier: MIT */
/*
 * See dat_copy.h. On a disk that is nearly full, bytes that were copied are freed at once: both
 * files together need little more room than one. Tests: tests/unit/test_dat_graph.c,
 * tests/cli/test_record_faults.py.
 */
#include "tools/export/dat_copy.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/move_bytes.h"
#include "tools/base/read_at.h"
#include "tools/base/signals.h"
#include "tools/export/dat_file.h"

#define COPY_BYTES (1u << 20)

struct row {
	uint64_t bytes, from, at;
};

struct dat_copy {
	int from, to;
	struct row *rows;
	size_t nr, room;
	uint64_t left; /* bytes */
	pthread_t thread;
	bool running;
	atomic_bool stop; /* the copy is not wanted any more */
	int err;	  /* -errno of the first failure */
};

struct dat_copy *dat_copy_new(int from)
{
	struct dat_copy *c = calloc(1, sizeof(*c));

	if (c)
		c->from = from;
	return c;
}

int dat_copy_add(struct dat_copy *c, uint64_t bytes, uint64_t from, uint64_t at)
{
	struct row *last = c->nr ? &c->rows[c->nr - 1] : NULL;

	if (last && last->from + last->bytes == from && last->at + last->bytes == at) {
		last->bytes += bytes;
		return 0;
	}
	if (ARRAY_ROOM(c->rows, c->nr, c->room, 64))
		return -ENOMEM;
	c->rows[c->nr++] = (struct row){bytes, from, at};
	return 0;
}

/*
 * Whether the disk may have too little room for the bytes that are left, beside other writers. A
 * hole makes some file systems write first what they have in memory, so none is made without need.
 */
static bool is_short(const struct dat_copy *c)
{
	struct statvfs v;

	return fstatvfs(c->to, &v) || !v.f_frsize || v.f_bavail < c->left / v.f_frsize * 2 + 1;
}

static int copy_row(struct dat_copy *c, const struct row *row, unsigned char *buf)
{
	int ret = 0;

	for (uint64_t done = 0; done < row->bytes && !ret; done += COPY_BYTES) {
		uint64_t left = row->bytes - done;
		size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

		if (atomic_load(&c->stop))
			return -EINTR;
		ret = read_at(c->from, buf, n, row->from + done);
		if (!ret)
			ret = dat_file_pwrite(c->to, buf, n, row->at + done);
		if (!ret && is_short(c))
			free_room(c->from, row->from + done, n);
		c->left -= n;
	}
	return ret;
}

static void *copy(void *arg)
{
	unsigned char *buf = malloc(COPY_BYTES);
	struct dat_copy *c = arg;

	c->err = buf ? 0 : -ENOMEM;
	for (size_t i = 0; i < c->nr; i++)
		c->left += c->rows[i].bytes;
	for (size_t i = 0; i < c->nr && !c->err; i++)
		c->err = copy_row(c, &c->rows[i], buf);
	free(buf);
	close(c->from);
	c->from = -1;
	return NULL;
}

void dat_copy_begin(struct dat_copy *c, int to)
{
	c->to = to;
	if (c->nr)
		c->running = !thread_without_signals(&c->thread, copy, c);
	if (c->nr && !c->running)
		copy(c);
}

int dat_copy_end(struct dat_copy *c)
{
	int ret;

	if (!c)
		return 0;
	if (c->running)
		pthread_join(c->thread, NULL);
	ret = c->err;
	if (c->from >= 0)
		close(c->from);
	free(c->rows);
	free(c);
	return ret;
}

void dat_copy_drop(struct dat_copy *c)
{
	if (c)
		atomic_store(&c->stop, true);
	dat_copy_end(c);
}
