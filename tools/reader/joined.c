/* SPDX-License-Identifier: MIT */
/*
 * See joined.h. Its head is a copy of the first reader's. Tests: tests/unit/test_joined.c,
 * tests/cli/test_buffers.py.
 */
#include "tools/reader/joined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

/* A stream of the joined reader: CPU @cpu of buffer @buffer. */
struct stream {
	struct reader *of;
	unsigned int buffer, cpu;
	uint64_t lost; /* lost records before the marks that were left out since the last record */
};

struct joined {
	struct reader reader; /* must be first */
	struct reader *in;
	struct stream *streams;
};

static struct joined *of(struct reader *r)
{
	return (struct joined *)r;
}

/* Is the record, of any buffer, one that `record -k` wrote to compare clocks? */
static bool is_clock_mark(const struct record *rec)
{
	size_t n = strlen(READER_CLOCK_MARK);

	return rec->kind == RECORD_PRINT && rec->data_bytes >= n &&
	       !memcmp(rec->data, READER_CLOCK_MARK, n);
}

/* Losses before a mark count before the next record, or at the end. */
static int read_further(struct stream *s, struct reader_cpu_stats *stats, struct record *out,
			unsigned int max)
{
	int n, kept = 0;

	while (!kept && (n = reader_read(s->of, s->cpu, out, max)) > 0) {
		for (int i = 0; i < n; i++) {
			s->lost = record_lost_sum(s->lost, out[i].lost);
			if (is_clock_mark(&out[i]))
				continue;
			out[kept] = out[i];
			out[kept].lost = s->lost;
			s->lost = 0;
			out[kept].graph |= RECORD_OF_FURTHER;
			out[kept++].process = RECORD_FURTHER_PROCESS + s->buffer;
		}
	}
	if (!kept && !n && s->lost) {
		stats->lost_at_end = record_lost_sum(stats->lost_at_end, s->lost);
		s->lost = 0;
	}
	return kept ? kept : n;
}

static int joined_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct stream *s = &of(r)->streams[cpu];

	return s->buffer ? read_further(s, &r->stats[cpu], out, max)
			 : reader_read(s->of, s->cpu, out, max);
}

static void joined_close(struct reader *r)
{
	reader_close(of(r)->in);
	free(of(r)->streams);
	free(r->stats);
	free(r);
}

static int joined_rewind(struct reader *r)
{
	struct reader *in = of(r)->in;
	int err = in->ops->rewind(in);

	for (unsigned int i = 0; !err && i < in->nr_further; i++)
		err = in->further[i]->ops->rewind(in->further[i]);
	for (unsigned int i = 0; i < r->nr_cpus; i++) {
		const struct stream *s = &of(r)->streams[i];

		of(r)->streams[i].lost = 0;
		r->stats[i].lost_at_end = s->of->stats ? s->of->stats[s->cpu].lost_at_end : 0;
	}
	return err;
}

/* Processes of the further buffers are not distinguished. */
static uint64_t joined_process_key(struct reader *r, uint32_t process, bool *ended)
{
	struct reader *in = of(r)->in;

	*ended = false;
	return in->ops->process_key && process < RECORD_FURTHER_PROCESS
		       ? in->ops->process_key(in, process, ended)
		       : 0;
}

static const struct reader_ops ops = {.read = joined_read,
				      .close = joined_close,
				      .rewind = joined_rewind,
				      .process_key = joined_process_key};

/* Add the streams and facts of a buffer to the joined reader. @buffer: 0: the first one. */
static void add(struct joined *j, struct reader *more, unsigned int buffer)
{
	struct reader *r = &j->reader;

	for (unsigned int cpu = 0; cpu < more->nr_cpus; cpu++, r->nr_cpus++) {
		j->streams[r->nr_cpus] = (struct stream){more, buffer, cpu};
		/* by stream; a further buffer may have no stats */
		if (more->stats)
			r->stats[r->nr_cpus] = more->stats[cpu];
	}
	if (more->graph && !r->graph)
		memcpy(r->tracer, more->tracer, sizeof(r->tracer));
	r->graph |= more->graph;
	if (more->nr_cpus > r->nr_cpus_online)
		r->nr_cpus_online = more->nr_cpus;
}

int reader_join(struct reader *in, struct reader **out)
{
	unsigned int nr = in->nr_cpus;
	struct joined *j;

	*out = in;
	if (!in->nr_further)
		return 0;
	for (unsigned int i = 0; i < in->nr_further; i++)
		nr += in->further[i]->nr_cpus;
	j = calloc(1, sizeof(*j));
	if (j) {
		*j = (struct joined){.reader = *in, .in = in};
		j->streams = calloc(nr + 1u, sizeof(*j->streams));
		j->reader.stats = calloc(nr + 1u, sizeof(*j->reader.stats));
	}
	if (!j || !j->streams || !j->reader.stats) {
		if (j) {
			free(j->streams);
			free(j->reader.stats);
		}
		free(j);
		reader_close(in);
		*out = NULL;
		return fail(ENOMEM, "out of memory for a reader");
	}
	j->reader.ops = &ops;
	j->reader.nr_cpus = 0;
	add(j, in, 0);
	for (unsigned int i = 0; i < in->nr_further; i++)
		add(j, in->further[i], i + 1);
	*out = &j->reader;
	return 0;
}

unsigned int reader_join_cpu(const struct reader *r, unsigned int stream)
{
	return r->ops == &ops ? ((const struct joined *)r)->streams[stream].cpu : stream;
}

unsigned int reader_join_buffer(const struct reader *r, unsigned int stream)
{
	return r->ops == &ops ? ((const struct joined *)r)->streams[stream].buffer : 0;
}

unsigned int reader_join_cpus(const struct reader *r)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->nr_cpus; i++)
		if (reader_join_cpu(r, i) >= nr)
			nr = reader_join_cpu(r, i) + 1;
	return nr;
}

const char *reader_buffer_name(const struct reader *r, unsigned int buffer)
{
	const char *name = r->buffer;

	if (buffer)
		name = buffer <= r->nr_further ? r->further[buffer - 1]->buffer : "";
	return name ? name : "";
}
