/* SPDX-License-Identifier: MIT */
/* See dat_instance.h. Tests: tests/cli/test_record_kernel.py. */
#include "tools/dat/dat_instance.h"

#include <stdio.h>
#include <stdlib.h>

struct instance {
	struct reader head; /* must be first */
	const struct dat_buffer *buffer;
};

static const struct dat_buffer *of(struct reader *r)
{
	return ((struct instance *)r)->buffer;
}

static int instance_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	return dat_stream_read(&of(r)->streams[cpu], out, max);
}

static int instance_rewind(struct reader *r)
{
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		dat_stream_reset(&of(r)->streams[cpu]);
	return 0;
}

static void instance_close(struct reader *r)
{
	free(r->stats);
	free(r);
}

static const struct reader_ops ops = {
	.read = instance_read, .close = instance_close, .rewind = instance_rewind};

struct reader *dat_instance_open(const struct dat_reader *d, const struct dat_buffer *b)
{
	struct instance *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->head.stats = calloc(b->nr_cpus + 1u, sizeof(*i->head.stats));
	if (!i->head.stats) {
		free(i);
		return NULL;
	}
	i->buffer = b;
	i->head.ops = &ops;
	i->head.nr_cpus = i->head.nr_cpus_online = b->nr_cpus;
	i->head.long_bytes = d->head.long_bytes;
	i->head.ts_is_ns = d->head.ts_is_ns;
	i->head.buffer = b->name;
	i->head.options_flipped = d->head.options_flipped;
	snprintf(i->head.clock, sizeof(i->head.clock), "%.*s", (int)sizeof(i->head.clock) - 1,
		 b->clock);
	return &i->head;
}
