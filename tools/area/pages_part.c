/* SPDX-License-Identifier: MIT */
/*
 * Splits a recording for two threads: pages_part() of pages.h. The first reader ends at a time at
 * which about half of the pages have begun; the second one begins there. The second reader opens
 * pages with records on both sides in their middle. They are few if the program runs one thread at
 * a time.
 *
 * The two readers share data that does not change: references, tables, clock. Each has its own
 * streams and its own arg of the source. Tests: tests/unit/reader/test_spool.c.
 */
#include <stdlib.h>

#include "tools/area/pages_impl.h"
#include "tools/base/array.h"

#define MIN_PAGES   512u /* with fewer a thread does not pay */
#define MAX_ON_BOTH 256u

void pages_can_part(struct pages *p, void *(*part)(void *arg), void (*close)(void *part))
{
	p->source.part = part;
	p->source.part_close = close;
}

/* Can call_tree_part.h join the calls of two halves? */
static bool is_simple(const struct pages *p)
{
	if (p->follow || p->grow || !p->source.part || p->nr_members != 1 || !pages_member(p, 0) ||
	    p->nr_refs < MIN_PAGES || p->horizon != UINT64_MAX)
		return false;
	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		const struct reader_cpu_stats *s = &p->reader.stats[c];

		if (s->overrun || s->commit_overrun || s->dropped_events)
			return false;
	}
	return true;
}

/* The first reference of a CPU that does not begin before @ts. */
static size_t first_from(const struct pages *p, unsigned int cpu, uint64_t ts)
{
	size_t first, end;

	pages_cpu_refs(p, cpu, &first, &end);
	return LOWER_BOUND(i, first, end, p->refs[i].base < ts);
}

static size_t nr_before(const struct pages *p, uint64_t ts)
{
	size_t nr = 0, first, end;

	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		pages_cpu_refs(p, c, &first, &end);
		nr += first_from(p, c, ts) - first;
	}
	return nr;
}

/* A time before which half of the pages begin; 0: there is none, because many begin at one time. */
static uint64_t middle(const struct pages *p)
{
	uint64_t lo = LOWER_BOUND(ts, 0, UINT64_MAX, nr_before(p, ts) < p->nr_refs / 2);
	size_t nr;

	/* lo is one more than the base of the last page of the half */
	lo -= lo > 0;
	nr = nr_before(p, lo);
	return lo && nr >= p->nr_refs / 4 && nr <= p->nr_refs / 4 * 3 ? lo : 0;
}

/* May page number @i, which begins before @ts, have a record from @ts on? */
static bool reaches(const struct pages *p, size_t i, uint64_t ts)
{
	const struct page_ref *r = &p->refs[i];

	return r->reach >= 63 || r->base + (UINT64_C(1) << r->reach) > ts;
}

/*
 * Can a reader begin at @ts? The pages from there on must have usual records only, and few pages
 * before may have records from @ts on.
 */
static bool can_begin_at(const struct pages *p, uint64_t ts)
{
	size_t nr = 0, first, end;

	for (unsigned int c = 0; c < p->reader.nr_cpus; c++) {
		size_t from = first_from(p, c, ts);

		pages_cpu_refs(p, c, &first, &end);
		for (size_t i = first; i < end; i++) {
			/* open_rest() checks the records of a page on both sides */
			if (i < from)
				nr += reaches(p, i, ts);
			else if (p->refs[i].changes)
				return false;
		}
	}
	return nr <= MAX_ON_BOTH;
}

static bool has_stacks(const struct open_page *o, uint32_t pos)
{
	while (pos < o->nr && RECORD_RUN_KIND(o->run_words[pos]) != RECORD_STACK)
		pos++;
	return pos < o->nr;
}

/* Open a page in its middle, if it has records from @ts on. Return: 0 or -errno. */
static int open_rest(struct pages *part, unsigned int cpu, size_t i, uint64_t ts)
{
	struct open_page *o;
	uint32_t gone, pos = 0;
	int err = page_load(part, &part->refs[i], &o, &gone);

	if (err || !o)
		return err;
	/* a page with events has slots */
	if (!o->run_ts) {
		free(o);
		return fail(ESTALE, "a page of CPU %u has more than calls", cpu);
	}
	while (pos < o->nr && o->run_ts[pos] < ts)
		pos++;
	if (has_stacks(o, pos))
		err = fail(ESTALE, "a thread of CPU %u changes its stack", cpu);
	else if (pos < o->nr)
		err = pages_reopen(part, cpu, &part->refs[i], pos, ts - 1);
	free(o);
	return err;
}

static int begin_at(struct pages *part, uint64_t ts)
{
	int err = 0;

	for (unsigned int c = 0; c < part->reader.nr_cpus && !err; c++) {
		size_t next = first_from(part, c, ts), first, end;

		pages_cpu_refs(part, c, &first, &end);
		pages_stream_set(part, c, first, next, end);
		for (size_t i = first; i < next && !err; i++)
			if (reaches(part, i, ts))
				err = open_rest(part, c, i, ts);
	}
	return err;
}

struct pages *pages_beside(const struct pages *p)
{
	struct pages *beside = p->source.part ? malloc(sizeof(*beside)) : NULL;

	if (!beside)
		return NULL;
	*beside = *p;
	beside->streams = NULL;
	beside->ahead = NULL;
	beside->reader.symbols = NULL;
	beside->source.arg = p->source.part(p->source.arg);
	if (beside->source.arg)
		return beside;
	free(beside);
	return NULL;
}

void pages_beside_free(struct pages *beside)
{
	if (!beside)
		return;
	pages_free_streams(beside);
	beside->source.part_close(beside->source.arg);
	free(beside);
}

struct reader *pages_part(struct reader *r)
{
	struct pages *p = pages_of_reader(r), *part;
	uint64_t ts = p && is_simple(p) ? middle(p) : 0;

	if (!ts || !can_begin_at(p, ts))
		return NULL;
	part = pages_beside(p);
	if (!part)
		return NULL;
	if (pages_make_streams(part))
		goto fail;
	/* two readers use two CPUs already */
	ahead_free(part->ahead);
	part->ahead = NULL;
	if (begin_at(part, ts))
		goto fail;
	ahead_free(p->ahead);
	p->ahead = NULL;
	p->horizon = ts - 1;
	return &part->reader;
fail:
	pages_part_free(&part->reader);
	return NULL;
}

void pages_part_free(struct reader *part)
{
	pages_beside_free((struct pages *)part);
}

void pages_part_drop(struct reader *r)
{
	pages_of_reader(r)->horizon = UINT64_MAX;
}
