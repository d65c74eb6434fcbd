/* SPDX-License-Identifier: MIT */
/*
 * See trace_stream.h. A trace of calls is printed by graph_events.h and graph_text.h, all others by
 * merge.h and trace_text.h. Owns neither reader nor output. Tests: tests/cli/test_report.py,
 * tests/tracefs/.
 */
#include "tools/target/trace_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/graph_events.h"
#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/text/graph_text.h"
#include "tools/text/trace_text.h"

struct trace_stream {
	struct out *o;
	char tracer[32], clock[32];
	/* for other traces */
	struct merge *merge;
	struct trace_text *text;
	/* for a trace of calls */
	struct graph_events *events;
	struct graph_text *graph;
};

static int begin_graph_text(struct trace_stream *s, struct reader *r,
			    const struct trace_shape *shape)
{
	s->graph = graph_text_new(r, s->o, shape->cpus,
				  (graph_options_of(r) & shape->keep) | shape->set);
	return s->graph ? 0 : fail(ENOMEM, "out of memory");
}

static int begin_graph(struct trace_stream *s, struct reader *r, const struct trace_shape *shape)
{
	int err = begin_graph_text(s, r, shape);

	if (err)
		return err;
	s->events = graph_events_new(r, shape->cpus, true, &err);
	if (!s->events)
		return err;
	if (!shape->no_header)
		graph_text_header(s->graph);
	return 0;
}

static int begin_text(struct trace_stream *s, struct reader *r, const struct trace_shape *shape)
{
	s->text = trace_text_new(r, s->o, shape->cpus);
	if (!s->text)
		return fail(ENOMEM, "out of memory");
	if (shape->no_header)
		trace_text_pipe(s->text);
	else
		trace_text_header(s->text);
	return 0;
}

static int begin_merge(struct trace_stream *s, struct reader *r, const struct trace_shape *shape)
{
	s->merge = merge_new(r);
	if (!s->merge)
		return fail(ENOMEM, "out of memory");
	for (unsigned int cpu = 0; shape->cpus && cpu < r->nr_cpus; cpu++) {
		if (!shape->cpus[cpu])
			merge_skip_cpu(s->merge, cpu);
	}
	return 0;
}

/* Is it a trace of calls? */
static bool is_of_calls(const struct reader *r)
{
	return r->graph || !strcmp(r->tracer, "function_graph");
}

struct trace_stream *trace_stream_new(struct reader *r, struct out *o,
				      const struct trace_shape *shape, int *err)
{
	struct trace_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		*err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	s->o = o;
	memcpy(s->tracer, r->tracer, sizeof(s->tracer));
	memcpy(s->clock, r->clock, sizeof(s->clock));
	if (is_of_calls(r)) {
		*err = begin_graph(s, r, shape);
	} else {
		*err = begin_merge(s, r, shape);
		if (!*err)
			*err = begin_text(s, r, shape);
	}
	if (*err) {
		trace_stream_free(s);
		return NULL;
	}
	return s;
}

void trace_stream_free(struct trace_stream *s)
{
	if (!s)
		return;
	merge_free(s->merge);
	trace_text_free(s->text);
	graph_events_free(s->events);
	graph_text_free(s->graph);
	free(s);
}

int trace_stream_step(struct trace_stream *s)
{
	const struct graph_event *ev;
	const struct record *rec;
	int ret;

	if (s->events) {
		ret = graph_events_next(s->events, &ev);
		if (ret > 0)
			graph_text_event(s->graph, ev);
		return ret;
	}
	ret = merge_next(s->merge, &rec);
	if (ret > 0)
		trace_text_record(s->text, rec);
	else
		trace_text_flush(s->text);
	return ret;
}

int trace_stream_all(struct trace_stream *s)
{
	int ret;

	do {
		ret = trace_stream_step(s);
	} while (ret > 0 && !s->o->err);
	return ret > 0 ? 0 : ret;
}

uint64_t trace_stream_too_deep(const struct trace_stream *s)
{
	return s->events ? graph_events_too_deep(s->events) : 0;
}

void trace_stream_again(struct trace_stream *s)
{
	if (s->events)
		graph_events_again(s->events);
	else
		merge_again(s->merge);
}

int trace_stream_go_on(struct trace_stream *s, struct reader *r, const struct trace_shape *shape)
{
	int err;

	if (strcmp(s->tracer, r->tracer) || strcmp(s->clock, r->clock) ||
	    (!s->events && is_of_calls(r)))
		return 0;
	if (s->events) {
		graph_text_free(s->graph);
		err = begin_graph_text(s, r, shape);
		graph_events_go_on(s->events, r);
	} else {
		trace_text_free(s->text);
		err = begin_text(s, r, shape);
		merge_go_on(s->merge, r);
	}
	return err ? err : 1;
}

uint64_t trace_stream_nr_taken(const struct trace_stream *s, unsigned int cpu)
{
	return s->events ? graph_events_nr_taken(s->events, cpu) : merge_nr_taken(s->merge, cpu);
}
