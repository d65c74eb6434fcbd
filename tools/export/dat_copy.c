/* SPDX-License-Identifier: MIT */
/* See dat_copy.h. Tests: tests/unit/test_dat_graph.c. */
#include "tools/export/dat_copy.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/base/array.h"
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
	pthread_t thread;
	bool running;
	int err; /* -errno of the first failure */
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

static int copy_row(const struct dat_copy *c, const struct row *row, unsigned char *buf)
{
	int ret = 0;

	for (uint64_t done = 0; done < row->bytes && !ret; done += COPY_BYTES) {
		uint64_t left = row->bytes - done;
		size_t n = left < COPY_BYTES ? (size_t)left : COPY_BYTES;

		ret = read_at(c->from, buf, n, row->from + done);
		if (!ret)
			ret = dat_file_pwrite(c->to, buf, n, row->at + done);
	}
	return ret;
}

static void *copy(void *arg)
{
	unsigned char *buf = malloc(COPY_BYTES);
	struct dat_copy *c = arg;

	c->err = buf ? 0 : -ENOMEM;
	for (size_t i = 0; i < c->nr && !c->err; i++)
		c->err = copy_row(c, &c->rows[i], buf);
	free(buf);
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
	close(c->from);
	free(c->rows);
	free(c);
	return ret;
}
