/* SPDX-License-Identifier: MIT */
/*
 * See merge.h. A heap of CPUs by the time of their next record. Within a run of records of one CPU,
 * times are compared with the second CPU's alone; the heap is used only when the CPU changes. Costs
 * 2 to 3 ns a record. Tests: tests/unit/test_merge.c.
 */
#include "tools/analysis/merge.h"

#include <errno.h>
#include <stdlib.h>

#include "tools/base/fail.h"

#define BATCH_RECORDS 256u

struct stream {
	unsigned int cpu;
	unsigned int at, nr; /* in batch */
	uint64_t taken;	     /* handed out, without the records of `batch` */
	struct record *batch;
};

struct merge {
	struct reader *r;
	unsigned int nr_cpus;
	struct stream *streams; /* by CPU */
	bool *skip;
	struct stream **heap; /* those that have a record, the earliest first */
	unsigned int nr_heap;
	bool begun;
	struct stream *last; /* of the record that was handed out last; its next step removes it */
	uint64_t bound_ts;   /* of the earliest other CPU */
	unsigned int bound_cpu;
};

struct merge *merge_new(struct reader *r)
{
	struct merge *m = calloc(1, sizeof(*m));
	size_t nr = r->nr_cpus + 1u;

	if (!m)
		return NULL;
	m->r = r;
	m->nr_cpus = r->nr_cpus;
	m->streams = calloc(nr, sizeof(*m->streams));
	m->heap = calloc(nr, sizeof(struct stream *));
	m->skip = calloc(nr, sizeof(*m->skip));
	if (!m->streams || !m->heap || !m->skip) {
		merge_free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

void merge_free(struct merge *m)
{
	unsigned int cpu;

	if (!m)
		return;
	for (cpu = 0; m->streams && cpu < m->nr_cpus; cpu++)
		free(m->streams[cpu].batch);
	free(m->streams);
	free(m->heap);
	free(m->skip);
	free(m);
}

void merge_skip_cpu(struct merge *m, unsigned int cpu)
{
	if (cpu < m->nr_cpus)
		m->skip[cpu] = true;
}

static const struct record *front(const struct stream *l)
{
	return &l->batch[l->at];
}

static bool before(const struct stream *a, const struct stream *b)
{
	uint64_t ta = front(a)->ts, tb = front(b)->ts;

	return ta < tb || (ta == tb && a->cpu < b->cpu);
}

/* The next batch of a stream that is used up. Return: 1, 0 at its end, -errno. */
static int refill(struct merge *m, struct stream *l)
{
	int n = reader_read(m->r, l->cpu, l->batch, BATCH_RECORDS);

	if (n < 0)
		return n;
	l->taken += l->nr;
	l->at = 0;
	l->nr = (unsigned int)n;
	return n > 0;
}

static void sift_down(struct merge *m, unsigned int i)
{
	struct stream *l = m->heap[i];

	for (;;) {
		unsigned int child = 2 * i + 1;

		if (child >= m->nr_heap)
			break;
		if (child + 1 < m->nr_heap && before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!before(m->heap[child], l))
			break;
		m->heap[i] = m->heap[child];
		i = child;
	}
	m->heap[i] = l;
}

static int begin(struct merge *m)
{
	unsigned int cpu, i;
	int ret;

	m->begun = true;
	for (cpu = 0; cpu < m->nr_cpus; cpu++) {
		struct stream *l = &m->streams[cpu];

		l->cpu = cpu;
		if (m->skip[cpu])
			continue;
		if (!l->batch)
			l->batch = malloc(BATCH_RECORDS * sizeof(*l->batch));
		if (!l->batch)
			return fail(ENOMEM, "out of memory for the records of CPU %u", cpu);
		ret = refill(m, l);
		if (ret < 0)
			return ret;
		if (ret) {
			m->heap[m->nr_heap++] = l;
			continue;
		}
		free(l->batch); /* an idle CPU of many holds no memory */
		l->batch = NULL;
	}
	for (i = m->nr_heap / 2; i-- > 0;)
		sift_down(m, i);
	return 0;
}

/* The first stream has changed or ended: restore the heap, and take the new first one. */
static void choose(struct merge *m)
{
	struct stream *second = NULL;

	m->last = NULL;
	if (!m->nr_heap)
		return;
	sift_down(m, 0);
	m->last = m->heap[0];
	if (m->nr_heap > 1)
		second = m->heap[1];
	if (m->nr_heap > 2 && before(m->heap[2], second))
		second = m->heap[2];
	m->bound_ts = second ? front(second)->ts : UINT64_MAX;
	m->bound_cpu = second ? second->cpu : UINT32_MAX;
}

int merge_next(struct merge *m, const struct record **rec)
{
	struct stream *l = m->last;
	int ret;

	if (l) {
		uint64_t ts;

		l->at++;
		if (l->at == l->nr) {
			ret = refill(m, l);
			if (ret < 0)
				return ret;
			if (!ret) {
				m->heap[0] = m->heap[--m->nr_heap];
				choose(m);
				l = m->last;
				goto out;
			}
		}
		ts = front(l)->ts;
		if (ts > m->bound_ts || (ts == m->bound_ts && l->cpu > m->bound_cpu))
			choose(m);
	} else if (!m->begun) {
		ret = begin(m);
		if (ret)
			return ret;
		choose(m);
	}
	l = m->last;
out:
	if (!l)
		return 0;
	*rec = front(l);
	return 1;
}

void merge_again(struct merge *m)
{
	if (!m->nr_heap)
		m->begun = false;
}

void merge_go_on(struct merge *m, struct reader *r)
{
	m->r = r;
	merge_again(m);
}

uint64_t merge_nr_taken(const struct merge *m, unsigned int cpu)
{
	const struct stream *l = &m->streams[cpu];

	return l->taken + l->at + (l == m->last);
}
