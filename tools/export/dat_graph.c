/* SPDX-License-Identifier: MIT */
/*
 * See dat_graph.h. An exit has its call's depth and time, and a thread may enter a function on one
 * CPU and return on another. So all CPUs are encoded together, in the order of time. The chunks of
 * one CPU (`first`) are written to their place in the output at once. The chunks of all other CPUs
 * go to a temporary file, in any order, and are copied to their places later.
 *
 * dat_graph_runs.c encodes plain calls; all others go through graph_events.h, at 80 ns a record.
 * Tests: tests/unit/test_dat_graph.c.
 */
#include "tools/export/dat_graph.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/graph_events.h"
#include "tools/base/fail.h"
#include "tools/code/prototype.h"
#include "tools/export/dat_chunks.h"
#include "tools/export/dat_copy.h"
#include "tools/export/dat_events.h"
#include "tools/export/dat_graph_runs.h"
#include "tools/export/dat_pages.h"
#include "tools/export/dat_sections.h"

struct dat_graph {
	const struct dat_file *file;
	struct chunks *chunks;
	struct subbuf_writer *pages; /* a CPU each */
	unsigned int nr_cpus;
	struct prototypes *prototypes;
	int fd;		       /* of the temporary file, */
	struct dat_copy *copy; /* whose rows are copied later; it closes the file */
	unsigned int first;    /* the CPU whose chunks go to the output at once, */
	uint64_t offset;       /* from this offset on */
	uint64_t events;
	struct native_known known;
	struct dat_graph_runs runs; /* of dat_graph_begin(); its `e` is NULL otherwise */
};

struct record dat_graph_record(const struct graph_event *ev)
{
	struct record rec = *ev->rec;

	rec.lost = ev->lost;
	if (ev->type == GRAPH_OTHER)
		return rec;
	rec.ip = ev->ip;
	rec.depth = ev->depth;
	rec.task = ev->stack;
	rec.overrun = 0;
	rec.data = NULL;
	rec.duration = 0;
	rec.graph = RECORD_GRAPH_DEPTH;
	if (ev->type == GRAPH_ENTRY) {
		rec.kind = ev->flags & GRAPH_TAIL ? RECORD_TAIL : RECORD_ENTRY;
		if (ev->flags & GRAPH_ARGS) {
			rec.graph |= RECORD_GRAPH_ARGS;
			rec.args = ev->args;
		}
		return rec;
	}
	rec.kind = RECORD_EXIT;
	rec.duration = ev->end - ev->start;
	rec.overrun = ev->overrun;
	if (ev->flags & GRAPH_UNWOUND)
		rec.graph |= RECORD_GRAPH_UNWOUND;
	if (ev->flags & GRAPH_NO_START)
		rec.graph |= RECORD_GRAPH_NO_START;
	if (ev->flags & GRAPH_RETVAL) {
		rec.graph |= RECORD_GRAPH_RETVAL;
		rec.retval = ev->retval;
	}
	return rec;
}

static int encode(struct dat_graph *g, struct reader *r, const struct dat_options *opt)
{
	const struct graph_event *ev;
	struct graph_events *events;
	struct record rec;
	int ret;

	events = graph_events_new(r, NULL, false, &ret);
	if (!events)
		return ret;
	ret = opt->native ? graph_events_bases(events, &g->known.bases, &g->known.nr_bases) : 0;
	if (!ret && opt->native)
		ret = graph_events_foresee(events);
	if (ret) {
		graph_events_free(events);
		return ret;
	}
	while ((ret = graph_events_next(events, &ev)) > 0) {
		rec = dat_graph_record(ev);
		if (g->prototypes && rec.graph & (RECORD_GRAPH_ARGS | RECORD_GRAPH_RETVAL))
			prototypes_find(g->prototypes, rec.ip);
		ret = subbuf_add(&g->pages[rec.cpu], &rec, 1);
		if (ret == -ENOTSUP)
			ret = fail(ENOTSUP,
				   "cannot write '%s': CPU %u has records of a kind that this "
				   "version does not put into a trace.dat (kind %u)",
				   g->file->path, rec.cpu, rec.kind);
		else if (ret)
			ret = dat_file_failed(g->file, ret);
		if (ret)
			break;
		dat_progress(opt, r, ++g->events, 1);
	}
	if (!ret && opt->native)
		g->known.leaves_unknown = graph_events_missed(events);
	if (!ret)
		ret = graph_events_ends(events, &g->known.ends, &g->known.nr_ends);
	graph_events_free(events);
	return ret;
}

/* Write the events that are still in memory. */
static int end_output(struct dat_graph *g)
{
	int ret = 0;

	for (unsigned int cpu = 0; !ret && cpu < g->nr_cpus; cpu++)
		ret = subbuf_end(&g->pages[cpu]);
	if (!ret)
		ret = chunks_flush(g->chunks);
	return ret ? dat_file_failed(g->file, ret) : 0;
}

/* Free the pages, the chunks and the results of an earlier attempt. */
static void drop_output(struct dat_graph *g)
{
	for (unsigned int cpu = 0; g->pages && cpu < g->nr_cpus; cpu++)
		subbuf_free(&g->pages[cpu]);
	chunks_free(g->chunks);
	free(g->pages);
	free(g->known.bases);
	free(g->known.ends);
	if (g->runs.e) {
		free(g->runs.bases);
		free(g->runs.ends);
	}
	dat_graph_runs_end(&g->runs);
	g->pages = NULL;
	g->chunks = NULL;
	g->known = (struct native_known){0};
	g->events = 0;
}

/* Begin the output, again if needed. Return: 0 or -errno with fail() set. */
static int begin_output(struct dat_graph *g, const struct reader *r, int level,
			uint32_t chunk_bytes, bool compact)
{
	drop_output(g);
	if (ftruncate(g->file->fd, (off_t)g->offset))
		return dat_file_failed(g->file, -errno);
	g->chunks = chunks_new(g->fd, chunk_bytes, level);
	g->pages = calloc(g->nr_cpus + 1u, sizeof(*g->pages));
	if (!g->chunks || !g->pages)
		return dat_file_failed(g->file, -ENOMEM);
	for (unsigned int cpu = 0; cpu < g->nr_cpus; cpu++) {
		if (subbuf_init_own(&g->pages[cpu], g->chunks, chunk_bytes, cpu))
			return dat_file_failed(g->file, -ENOMEM);
		g->pages[cpu].values = r->values;
		g->pages[cpu].head_bytes = 8u + dat_long_bytes(r);
	}
	if (compact && level == 1)
		chunks_of_calls(g->chunks);
	chunks_start(g->chunks, 0);
	chunks_apart(g->chunks, g->first, g->file->fd, g->offset);
	return 0;
}

/* Encode plain calls, fast. Return: enum dat_graph_end, or -errno with fail() set. */
static int encode_runs(struct dat_graph *g, struct reader *r, const struct dat_options *opt,
		       bool learn)
{
	struct dat_graph_runs runs = {
		.file = g->file, .r = r, .opt = opt, .pages = g->pages, .learn = learn};
	int ret;

	ret = dat_graph_runs(&runs);
	g->events = runs.events;
	g->known = (struct native_known){.bases = runs.bases,
					 .nr_bases = runs.nr_bases,
					 .ends = runs.ends,
					 .nr_ends = runs.nr_ends,
					 .leaves_unknown = runs.missed};
	return ret;
}

/* Return: 0; DAT_GRAPH_OTHER, with @r at its start; -errno with fail() set. */
static int encode_compact(struct dat_graph *g, struct reader *r, const struct dat_options *opt,
			  int level, uint32_t chunk_bytes)
{
	int ret = 0, end = DAT_GRAPH_LEARN;

	for (int learn = opt->learn; end == DAT_GRAPH_LEARN && learn < 2; learn++) {
		ret = begin_output(g, r, level, chunk_bytes, true);
		end = ret ? ret : encode_runs(g, r, opt, learn);
		if (end <= DAT_GRAPH_DONE)
			return end ? end : end_output(g);
		ret = r->ops->rewind(r);
		if (ret)
			return ret;
	}
	return DAT_GRAPH_OTHER;
}

static int encode_all(struct dat_graph *g, struct reader *r, const struct dat_options *opt,
		      int level, uint32_t chunk_bytes, bool compact)
{
	int ret;

	if (compact)
		return encode_compact(g, r, opt, level, chunk_bytes);
	ret = begin_output(g, r, level, chunk_bytes, false);
	return ret ? ret : encode(g, r, opt) ?: end_output(g);
}

bool dat_graph_may_be_compact(const struct reader *r)
{
	return r->ops->read_run && r->ops->rewind && !r->values;
}

static unsigned int cpu_of_most(const struct reader *r)
{
	unsigned int most = 0;

	for (unsigned int cpu = 1; r->stats && cpu < r->nr_cpus; cpu++)
		if (r->stats[cpu].entries > r->stats[most].entries)
			most = cpu;
	return most;
}

static struct dat_graph *new_graph(const struct dat_file *file, const struct reader *r,
				   uint64_t offset, int *err)
{
	struct dat_graph *g = calloc(1, sizeof(*g));

	*err = g ? 0 : fail(ENOMEM, "out of memory");
	if (!g)
		return NULL;
	g->file = file;
	g->nr_cpus = r->nr_cpus;
	g->first = cpu_of_most(r);
	g->offset = offset;
	g->fd = dat_file_beside(file, ".cpus");
	if (g->fd >= 0)
		g->copy = dat_copy_new(g->fd);
	if (g->copy)
		return g;
	*err = g->fd < 0 ? g->fd : fail(ENOMEM, "out of memory");
	if (g->fd >= 0)
		close(g->fd);
	free(g);
	return NULL;
}

int dat_graph_new(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		  int level, uint32_t chunk_bytes, struct prototypes *prototypes, bool compact,
		  uint64_t offset, struct dat_graph **out)
{
	struct dat_graph *g;
	int ret;

	g = new_graph(file, r, offset, &ret);
	if (!g)
		return ret;
	g->prototypes = prototypes;
	ret = encode_all(g, r, opt, level, chunk_bytes, compact);
	if (ret) {
		dat_graph_free(g);
		return ret;
	}
	*out = g;
	return 0;
}

int dat_graph_begin(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		    int level, uint32_t chunk_bytes, uint64_t offset, struct dat_graph **out)
{
	struct dat_graph *g;
	int ret;

	g = new_graph(file, r, offset, &ret);
	if (!g)
		return ret;
	ret = begin_output(g, r, level, chunk_bytes, true);
	if (!ret) {
		g->runs = (struct dat_graph_runs){
			.file = file, .r = r, .opt = opt, .pages = g->pages};
		ret = dat_graph_runs_begin(&g->runs);
	}
	if (ret) {
		dat_graph_free(g);
		return ret;
	}
	*out = g;
	return 0;
}

int dat_graph_step(struct dat_graph *g, const atomic_bool *stop)
{
	int ret = dat_graph_runs_step(&g->runs, stop);

	g->events = g->runs.events;
	return ret;
}

void dat_graph_use(struct dat_graph *g, const struct dat_file *file, const struct dat_options *opt)
{
	g->file = g->runs.file = file;
	g->runs.opt = opt;
	chunks_new_workers(g->chunks);
}

int dat_graph_finish(struct dat_graph *g, struct reader *r)
{
	int ret;

	dat_graph_runs_go_on(&g->runs, r);
	ret = dat_graph_step(g, NULL);
	if (ret)
		return ret;
	g->known = (struct native_known){.bases = g->runs.bases,
					 .nr_bases = g->runs.nr_bases,
					 .ends = g->runs.ends,
					 .nr_ends = g->runs.nr_ends,
					 .leaves_unknown = g->runs.missed};
	dat_graph_runs_end(&g->runs);
	return end_output(g);
}

void dat_graph_free(struct dat_graph *g)
{
	if (!g)
		return;
	drop_output(g);
	dat_copy_drop(g->copy);
	free(g);
}

unsigned int dat_graph_first(const struct dat_graph *g)
{
	return g->first;
}

void dat_graph_take_known(struct dat_graph *g, struct native_known *known)
{
	*known = g->known;
	g->known.bases = NULL;
	g->known.ends = NULL;
}

uint64_t dat_graph_events(const struct dat_graph *g)
{
	return g->events;
}

int dat_graph_place(struct dat_graph *g, unsigned int cpu, uint64_t offset, uint64_t *bytes,
		    uint32_t *nr_chunks)
{
	const struct chunk_note *note;
	uint64_t from = 0;
	size_t nr;
	int ret = 0;

	note = chunks_notes(g->chunks, &nr);
	*bytes = *nr_chunks = 0;
	for (size_t i = 0; i < nr && !ret; i++) {
		bool placed = note[i].tag == g->first;

		if (note[i].tag == cpu) {
			if (!placed)
				ret = dat_copy_add(g->copy, note[i].bytes, from, offset + *bytes);
			*bytes += note[i].bytes;
			++*nr_chunks;
		}
		from += placed ? 0 : note[i].bytes;
	}
	return ret ? dat_file_failed(g->file, ret) : 0;
}

struct dat_copy *dat_graph_copy(struct dat_graph *g)
{
	struct dat_copy *copy = g->copy;

	g->copy = NULL;
	dat_copy_begin(copy, g->file->fd);
	return copy;
}
