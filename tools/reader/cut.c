/* SPDX-License-Identifier: MIT */
/* See cut.h. Its head is a copy of the other reader's. Tests: tests/cli/test_flight.py. */
#include "tools/reader/cut.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

struct cut {
	struct reader reader; /* first */
	struct reader *in;
	uint64_t from, to;
};

static struct cut *of(struct reader *r)
{
	return (struct cut *)r;
}

static int cut_read(struct reader *r, unsigned int cpu, struct record *out, unsigned int max)
{
	const struct cut *c = of(r);
	int n = 0, kept = 0;

	c->in->stop = r->stop;
	while (!kept && (n = reader_read(c->in, cpu, out, max)) > 0)
		for (int i = 0; i < n; i++)
			if (out[i].ts >= c->from && out[i].ts <= c->to)
				out[kept++] = out[i];
	return kept ? kept : n;
}

static void cut_close(struct reader *r)
{
	reader_close(of(r)->in);
	free(r);
}

static int cut_rewind(struct reader *r)
{
	return of(r)->in->ops->rewind(of(r)->in);
}

static void cut_find_depths(struct reader *r)
{
	of(r)->in->ops->find_depths(of(r)->in);
}

static void cut_learn_printks(struct reader *r, uint32_t process)
{
	of(r)->in->ops->learn_printks(of(r)->in, process);
	r->printks = of(r)->in->printks;
}

/* Whether the process had ended at the cut is not known: it may have ended behind it. */
static uint64_t cut_process_key(struct reader *r, uint32_t process, bool *ended)
{
	uint64_t key = of(r)->in->ops->process_key(of(r)->in, process, ended);

	*ended = false;
	return key;
}

int reader_cut(struct reader *in, uint64_t from, uint64_t to, struct reader **out)
{
	struct cut *c = malloc(sizeof(*c) + sizeof(struct reader_ops));
	struct reader_ops *ops;

	if (!c) {
		reader_close(in);
		return fail(ENOMEM, "out of memory for a reader");
	}
	ops = (struct reader_ops *)(c + 1);
	*c = (struct cut){.reader = *in, .in = in, .from = from, .to = to};
	*ops = (struct reader_ops){.read = cut_read,
				   .close = cut_close,
				   .rewind = in->ops->rewind ? cut_rewind : NULL,
				   .find_depths = in->ops->find_depths ? cut_find_depths : NULL,
				   .learn_printks =
					   in->ops->learn_printks ? cut_learn_printks : NULL,
				   .process_key = in->ops->process_key ? cut_process_key : NULL};
	c->reader.ops = ops;
	/* the bases are the calls open at the first record, not at the cut */
	c->reader.bases = NULL;
	c->reader.nr_bases = 0;
	c->reader.bases_known = false;
	*out = &c->reader;
	return 0;
}
