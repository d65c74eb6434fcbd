/* SPDX-License-Identifier: MIT */
/* See joined.h. Its head is a copy of the other reader's. Tests: tests/cli/test_record_kernel.py. */
#include "tools/reader/joined.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

struct joined {
	struct reader reader; /* must be first */
	struct reader *in;
};

static struct joined *of(struct reader *r)
{
	return (struct joined *)r;
}

static bool is_mark(const struct record *rec)
{
	size_t n = strlen(READER_CLOCK_MARK);

	return rec->kind == RECORD_PRINT && rec->data_bytes >= n &&
	       !memcmp(rec->data, READER_CLOCK_MARK, n);
}

static int read_second(struct reader *second, unsigned int cpu, struct record *out,
		       unsigned int max)
{
	int n, kept = 0;

	while (!kept && (n = reader_read(second, cpu, out, max)) > 0)
		for (int i = 0; i < n; i++)
			if (!is_mark(&out[i]))
				out[kept++] = out[i];
	return kept ? kept : n;
}

static int joined_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	struct reader *in = of(r)->in;

	if (r->stop && atomic_load_explicit(r->stop, memory_order_relaxed))
		return fail(EINTR, "interrupted");
	return cpu < in->nr_cpus ? reader_read(in, cpu, out, max)
				 : read_second(in->second, cpu - in->nr_cpus, out, max);
}

static void joined_close(struct reader *r)
{
	reader_close(of(r)->in);
	free(r->stats);
	free(r);
}

static int joined_rewind(struct reader *r)
{
	int err = of(r)->in->ops->rewind(of(r)->in);

	return err ? err : of(r)->in->second->ops->rewind(of(r)->in->second);
}

static const struct reader_ops ops = {
	.read = joined_read, .close = joined_close, .rewind = joined_rewind};

int reader_join(struct reader *in, struct reader **out)
{
	struct joined *j;

	*out = in;
	if (!in->second)
		return 0;
	j = malloc(sizeof(*j));
	if (!j) {
		reader_close(in);
		return fail(ENOMEM, "no memory for a reader");
	}
	*j = (struct joined){.reader = *in, .in = in};
	j->reader.ops = &ops;
	j->reader.nr_cpus += in->second->nr_cpus;
	j->reader.second = NULL;
	/* of streams; those of the second are not known */
	j->reader.stats = calloc(j->reader.nr_cpus, sizeof(*j->reader.stats));
	if (!j->reader.stats) {
		free(j);
		reader_close(in);
		return fail(ENOMEM, "no memory for a reader");
	}
	if (in->stats)
		memcpy(j->reader.stats, in->stats, in->nr_cpus * sizeof(*in->stats));
	*out = &j->reader;
	return 0;
}

unsigned int reader_join_cpus(const struct reader *r)
{
	return r->ops == &ops ? ((const struct joined *)r)->in->nr_cpus : r->nr_cpus;
}
