/* SPDX-License-Identifier: MIT */
/*
 * See runs.h. A heap of CPUs by the time of their next record; a run is cut where the next record
 * is of another CPU. Tests: tests/unit/test_merge.c.
 */
#include "tools/analysis/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"

#define BATCH_RECORDS 256u

struct stream {
	unsigned int cpu;
	struct run run;	      /* the part that is left */
	struct record *batch; /* for a reader without runs */
};

struct runs {
	struct reader *r;
	struct stream *streams; /* by CPU */
	bool *skip;
	struct stream **heap; /* those that have a record, the earliest first */
	unsigned int nr_heap;
	struct stream *last; /* of the run that was handed out last */
	bool begun;
};

struct runs *runs_new(struct reader *r)
{
	struct runs *s = calloc(1, sizeof(*s));
	size_t nr = r->nr_cpus + 1u;

	if (!s)
		return NULL;
	s->r = r;
	s->streams = calloc(nr, sizeof(*s->streams));
	s->heap = calloc(nr, sizeof(struct stream *));
	s->skip = calloc(nr, sizeof(*s->skip));
	if (!s->streams || !s->heap || !s->skip) {
		runs_free(s);
		errno = ENOMEM;
		return NULL;
	}
	return s;
}

void runs_free(struct runs *s)
{
	if (!s)
		return;
	for (unsigned int cpu = 0; s->streams && cpu < s->r->nr_cpus; cpu++)
		free(s->streams[cpu].batch);
	free(s->streams);
	free(s->heap);
	free(s->skip);
	free(s);
}

void runs_skip_cpu(struct runs *s, unsigned int cpu)
{
	if (cpu < s->r->nr_cpus)
		s->skip[cpu] = true;
}

static bool before(const struct stream *a, const struct stream *b)
{
	uint64_t ta = run_ts(&a->run, 0), tb = run_ts(&b->run, 0);

	return ta < tb || (ta == tb && a->cpu < b->cpu);
}

static void sift_down(struct runs *s, unsigned int i)
{
	struct stream *l = s->heap[i];

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child >= s->nr_heap)
			break;
		if (child + 1 < s->nr_heap && before(s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s->heap[child], l))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = l;
}

/* The next run of a stream that is used up. Return: 1, 0 at its end, -errno. */
static int refill(struct runs *s, struct stream *l)
{
	int n = reader_stopped(s->r);

	if (n)
		return n;
	if (s->r->ops->read_run)
		return s->r->ops->read_run(s->r, l->cpu, &l->run);
	if (!l->batch)
		l->batch = malloc(BATCH_RECORDS * sizeof(*l->batch));
	if (!l->batch)
		return fail(ENOMEM, "out of memory for the records of CPU %u", l->cpu);
	n = reader_read(s->r, l->cpu, l->batch, BATCH_RECORDS);
	if (n > 0) {
		l->run = (struct run){.nr = (unsigned int)n, .recs = l->batch};
		return 1;
	}
	free(l->batch); /* an idle CPU of many holds no memory */
	l->batch = NULL;
	return n;
}

static int begin(struct runs *s)
{
	int ret;

	s->begun = true;
	for (unsigned int cpu = 0; cpu < s->r->nr_cpus; cpu++) {
		struct stream *l = &s->streams[cpu];

		l->cpu = cpu;
		if (s->skip[cpu])
			continue;
		ret = refill(s, l);
		if (ret < 0)
			return ret;
		if (ret)
			s->heap[s->nr_heap++] = l;
	}
	for (unsigned int i = s->nr_heap / 2; i-- > 0;)
		sift_down(s, i);
	return 0;
}

/* Step over the records of the first stream that were handed out. */
static int step(struct runs *s)
{
	struct stream *l = s->heap[0];
	int ret = 1;

	if (!l->run.nr)
		ret = refill(s, l);
	if (ret < 0)
		return ret;
	if (!ret)
		s->heap[0] = s->heap[--s->nr_heap];
	if (s->nr_heap > 1)
		sift_down(s, 0);
	return 0;
}

/* The number of records of @run before @limit, at least 1: the first record is before it. */
static unsigned int count_before(const struct run *run, uint64_t limit)
{
	if (run_ts(run, run->nr - 1) < limit)
		return run->nr;
	return (unsigned int)LOWER_BOUND(i, 1, run->nr, run_ts(run, i) < limit);
}

int runs_next(struct runs *s, struct run *run)
{
	const struct stream *second;
	struct stream *l;
	uint64_t limit;
	unsigned int n;
	int ret = 0;

	if (!s->begun)
		ret = begin(s);
	else if (s->nr_heap)
		ret = step(s);
	if (ret)
		return ret;
	if (!s->nr_heap)
		return 0;
	l = s->heap[0];
	second = s->nr_heap > 1 ? s->heap[1] : NULL;
	if (s->nr_heap > 2 && before(s->heap[2], second))
		second = s->heap[2];
	*run = l->run;
	if (second) {
		limit = run_ts(&second->run, 0);
		/* at the same time the lower CPU is first */
		if (l->cpu < second->cpu && limit < UINT64_MAX)
			limit++;
		run->nr = count_before(run, limit);
	}
	n = run->nr;
	l->run.nr -= n;
	if (l->run.recs)
		l->run.recs += n;
	else
		l->run.ts += n, l->run.words += n;
	l->run.head.lost = 0;
	s->last = l;
	return 1;
}

int runs_peek(struct runs *s, struct record *next)
{
	struct stream *l = s->last;
	int ret = l->run.nr ? 1 : refill(s, l);

	if (ret > 0)
		*next = run_record(&l->run);
	return ret;
}

void runs_go_on(struct runs *s, struct reader *r)
{
	s->r = r;
	if (!s->nr_heap)
		s->begun = false;
}
