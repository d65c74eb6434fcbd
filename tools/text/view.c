/* SPDX-License-Identifier: MIT */
/* See view.h. Tests: tests/cli/test_views.py. */
#include "tools/text/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/runs.h"
#include "tools/base/cpu_list.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/code/srcline.h"
#include "tools/code/symbols.h"
#include "tools/reader/joined.h"
#include "tools/reader/tasks.h"
#include "tools/text/duration.h"
#include "tools/text/value_text.h"

void view_init(struct view *v)
{
	memset(v, 0, sizeof(*v));
	v->demangle = DEMANGLE_SHORT;
}

int view_choose_cpus(struct view *v, const char *list)
{
	bool *cpus, *streams;
	/* a joined reader has a stream of each buffer and CPU */
	int ret = cpu_list_parse(list, reader_join_cpus(v->r), &cpus);

	if (ret)
		return ret;
	streams = calloc(v->r->nr_cpus + 1u, sizeof(*streams));
	for (unsigned int i = 0; streams && i < v->r->nr_cpus; i++)
		streams[i] = cpus[reader_join_cpu(v->r, i)];
	free(cpus);
	if (!streams)
		return fail(ENOMEM, "out of memory");
	free(v->cpus);
	v->cpus = streams;
	return 0;
}

/*
 * Do the times of @further compare with the first buffer's? A process's local clock is
 * CLOCK_MONOTONIC.
 */
static bool is_on_one_clock(const struct reader *r, const struct reader *further)
{
	bool ours = false;

	for (size_t i = 0; i < tasks_count(r->tasks) && !ours; i++)
		ours = tasks_traced(r->tasks, tasks_at(r->tasks, i)->pid);
	return !further->clock[0] || !strcmp(r->clock, further->clock) ||
	       (ours && !strcmp(r->clock, "local") && !strcmp(further->clock, "mono"));
}

/* Notes on the buffers without which a user would misread the view. */
static void note_buffers(const struct reader *r)
{
	unsigned int with_calls = r->graph;

	if (r->text_buffer)
		note("buffer '%s' holds the text of a latency tracer: `vestige report` prints it",
		     r->text_buffer);
	for (unsigned int i = 0; i < r->nr_further; i++) {
		with_calls += r->further[i]->graph;
		if (!is_on_one_clock(r, r->further[i]))
			note("buffer '%s' has the clock %s, the first one %s: their times do not "
			     "compare",
			     r->further[i]->buffer, r->further[i]->clock, r->clock);
	}
	if (with_calls > 1)
		note("%u buffers have calls: a function that several recorded counts in each",
		     with_calls);
}

int view_use(struct view *v, struct reader *r)
{
	int ret;

	note_buffers(r);
	v->first_calls = r->graph;
	ret = reader_join(r, &r);
	if (ret)
		return ret;
	v->r = r;
	v->lost_of = calloc(r->nr_further + 1u, sizeof(*v->lost_of));
	if (!v->lost_of)
		return fail(ENOMEM, "out of memory");
	symbols_demangle(v->r->symbols, v->demangle);
	if (v->cpu_text)
		ret = view_choose_cpus(v, v->cpu_text);
	if (ret)
		return ret;
	if (v->r->values) {
		v->values = value_text_new(v->r);
		if (!v->values)
			return fail(ENOMEM, "out of memory");
	}
	if (v->srcline) {
		v->lines = srcline_new(v->r->symbols);
		if (!v->lines)
			return fail(ENOMEM, "out of memory");
	}
	v->filter = call_filter_new(v->r, &v->wish);
	return v->filter ? 0 : -ENOMEM;
}

int view_open(struct view *v)
{
	struct reader *r;
	int ret;

	if (!v->path)
		v->path = "trace.dat";
	ret = reader_open(v->path, &r);
	return ret ? ret : view_use(v, r);
}

int view_must_have_calls(const struct view *v)
{
	if (v->r->graph)
		return 0;
	return fail(EINVAL,
		    "'%s' has no calls with entry and exit: record it with -p function_graph; "
		    "`vestige report` shows other records",
		    v->path);
}

int view_open_calls(struct view *v)
{
	int ret = view_open(v);

	return ret ? ret : view_must_have_calls(v);
}

void view_close(struct view *v)
{
	call_filter_free(v->filter);
	srcline_free(v->lines);
	value_text_free(v->values);
	free(v->cpus);
	free(v->lost_of);
	reader_close(v->r);
	v->filter = NULL;
	v->lines = NULL;
	v->values = NULL;
	v->cpus = NULL;
	v->lost_of = NULL;
	v->r = NULL;
}

bool view_has_filters(const struct view *v)
{
	const struct call_wish *w = &v->wish;

	return w->nr_under || w->nr_not_under || w->max_depth || w->min_ns || w->from || w->to ||
	       w->nr_tids;
}

static void add_lost(struct view *v, unsigned int buffer, uint64_t nr)
{
	v->lost = record_lost_sum(v->lost, nr);
	v->lost_of[buffer] = record_lost_sum(v->lost_of[buffer], nr);
}

static void count_lost(struct view *v, const struct record *behind)
{
	if (v->gap)
		v->gap(v->gap_arg, behind);
	add_lost(v, record_buffer(behind), behind->lost);
}

static void count_run(struct view *v, const struct run *run)
{
	struct record first = run->head;

	v->last_ts = run_ts(run, run->nr - 1);
	first.ts = run_ts(run, 0);
	if (!run->recs && first.lost)
		count_lost(v, &first);
	for (unsigned int i = 0; run->recs && i < run->nr; i++)
		if (run->recs[i].lost)
			count_lost(v, &run->recs[i]);
}

static bool is_of_calls(const struct record *rec)
{
	return rec->kind != RECORD_EVENT && rec->kind != RECORD_PRINT &&
	       rec->kind != RECORD_FUNCTION;
}

static int take_run(struct view *v, struct calls *calls, const struct run *run)
{
	int ret = 0;

	count_run(v, run);
	v->nr_records += run->nr;
	if (v->progress)
		v->progress(v->progress_arg, v->nr_records, v->nr_expected);
	ret = reader_stopped(v->r);
	if (ret)
		return ret;
	if (!v->other || !run->recs)
		return calls_run(calls, run);
	for (unsigned int i = 0; i < run->nr && !ret; i++) {
		ret = calls_record(calls, &run->recs[i]);
		if (!ret && !is_of_calls(&run->recs[i]))
			ret = v->other(v->other_arg, &run->recs[i]);
	}
	return ret;
}

#define PART_RECORDS 256u /* of a run, between two looks at whether a part is full */

/* Remove the first @nr records from @run and return them. */
static struct run take_first(struct run *run, unsigned int nr)
{
	struct run first = *run;

	first.nr = nr;
	run->nr -= nr;
	if (run->recs) {
		run->recs += nr;
	} else {
		run->ts += nr;
		run->words += nr;
		run->head.lost = 0;
	}
	return first;
}

static unsigned int nr_before(const struct run *run, uint64_t ts)
{
	unsigned int i = 0;

	while (i < run->nr && run_ts(run, i) < ts)
		i++;
	return i;
}

/* A run, with the cuts that lie in it. @cuts: later cuts, 0 none. */
static int take_cut_run(struct view *v, struct calls *calls, struct run *run, uint64_t cuts[2],
			const int *err)
{
	int ret = 0;

	while (run->nr && !ret && !*err) {
		uint64_t *cut = cuts[0] ? &cuts[0] : &cuts[1];
		unsigned int nr = *cut ? nr_before(run, *cut) : run->nr;
		struct run first;

		if (!nr) {
			calls_cut(calls, *cut, NULL, NULL);
			*cut = 0;
			continue;
		}
		if (v->part_full && v->part_full(v->part_arg))
			calls_cut(calls, v->last_ts, v->part_next, v->part_arg);
		first = take_first(run, v->part_full && nr > PART_RECORDS ? PART_RECORDS : nr);
		ret = take_run(v, calls, &first);
	}
	return ret;
}

/*
 * The time of the first record that is shown: the change to a stack that comes before its first
 * call is not.
 */
static uint64_t shown_ts(const struct run *run)
{
	unsigned int i = 0;

	while (i + 1 < run->nr &&
	       (run->recs ? run->recs[i].kind : RECORD_RUN_KIND(run->words[i])) == RECORD_STACK)
		i++;
	return run_ts(run, i);
}

/* Called with the first run, since the range may count from its time. */
static void find_cuts(struct view *v, const struct run *run)
{
	v->first_ts = shown_ts(run);
	if (v->range_from_start)
		v->wish.from += v->first_ts;
	if (v->range_to_start)
		v->wish.to += v->first_ts;
	v->walk.cuts[0] = v->cuts ? v->wish.from : 0;
	v->walk.cuts[1] = v->cuts ? v->wish.to : 0;
	v->walk.begun = true;
}

int view_begin(struct view *v, const struct calls_ops *ops, void *arg)
{
	struct view_walk *w = &v->walk;

	*w = (struct view_walk){.runs = runs_new(v->r), .calls = calls_new(ops, arg, NULL)};
	if (!w->runs || !w->calls)
		return fail(ENOMEM, "out of memory");
	for (unsigned int cpu = 0; v->cpus && cpu < v->r->nr_cpus; cpu++)
		if (!v->cpus[cpu])
			runs_skip_cpu(w->runs, cpu);
	if (v->cpus && v->r->ops->find_depths)
		v->r->ops->find_depths(v->r);
	calls_use(w->calls, v->r);
	return v->r->bases_known ? calls_learn(w->calls, v->r, v->cpus) : 0;
}

int view_step(struct view *v, const int *err)
{
	struct view_walk *w = &v->walk;
	struct run run;
	int ret = runs_next(w->runs, &run);

	if (ret <= 0)
		return ret;
	if (!w->begun)
		find_cuts(v, &run);
	if (v->nr_of_cpu)
		v->nr_of_cpu[run_record(&run).cpu] += run.nr;
	ret = w->cuts[0] || w->cuts[1] || v->part_full
		      ? take_cut_run(v, w->calls, &run, w->cuts, err)
		      : take_run(v, w->calls, &run);
	return ret ? ret : *err ? *err : 1;
}

void view_finish(struct view *v)
{
	calls_finish(v->walk.calls);
	for (unsigned int i = 0; v->r->stats && i < v->r->nr_cpus; i++)
		if (!v->cpus || v->cpus[i])
			add_lost(v, reader_join_buffer(v->r, i), v->r->stats[i].lost_at_end);
}

void view_end(struct view *v)
{
	if (v->walk.calls)
		v->left_out = calls_too_deep(v->walk.calls);
	runs_free(v->walk.runs);
	calls_free(v->walk.calls);
	v->walk = (struct view_walk){0};
}

int view_run(struct view *v, const struct calls_ops *ops, void *arg, const int *err)
{
	int ret = view_begin(v, ops, arg);

	if (!ret)
		ret = *err;
	while (!ret && !*err && (ret = view_step(v, err)) > 0)
		ret = 0;
	if (!ret && !*err)
		view_finish(v);
	view_end(v);
	return ret < 0 ? ret : *err;
}

static bool has_calls(const struct view *v, unsigned int buffer)
{
	return buffer ? v->r->further[buffer - 1]->graph : v->first_calls;
}

uint64_t view_lost_calls(const struct view *v)
{
	uint64_t sum = 0;

	if (!v->r->graph)
		return v->lost;
	for (unsigned int i = 0; i <= v->r->nr_further; i++)
		if (has_calls(v, i))
			sum = record_lost_sum(sum, v->lost_of[i]);
	return sum;
}

/* A note on lost events; no calls were lost. */
static void note_lost_events(const struct view *v, unsigned int buffer)
{
	const char *name = reader_buffer_name(v->r, buffer);
	uint64_t nr = v->lost_of[buffer];

	if (!*name)
		name = "top";
	if (nr == RECORD_LOST_UNKNOWN)
		note("buffer '%s': records were lost, how many is not known: its events are too "
		     "few",
		     name);
	else if (nr)
		note("buffer '%s': %" PRIu64 " records were lost: its events are too few", name,
		     nr);
}

void view_notes(const struct view *v, uint64_t nr_calls)
{
	uint64_t lost = view_lost_calls(v);

	if (lost == RECORD_LOST_UNKNOWN)
		note("records were lost, how many is not known: counts and times are too low");
	else if (lost)
		note("%" PRIu64 " records were lost: counts and times are too low", lost);
	for (unsigned int i = 0; v->r->graph && i <= v->r->nr_further; i++)
		if (!has_calls(v, i))
			note_lost_events(v, i);
	if (v->left_out)
		note("%" PRIu64 " calls were nested too deep to be shown one by one", v->left_out);
	if (!nr_calls)
		note("no call in '%s' matches the flags", v->path);
}

void view_put_name(const struct view *v, struct out *o, const struct call_function *fn)
{
	if (fn->name)
		out_text(o, fn->name);
	else
		out_printf(o, "0x%08" PRIx64, fn->ip);
}

const char *view_place(const struct view *v, uint64_t ip)
{
	return v->lines ? srcline_find(v->lines, ip) : NULL;
}
