/* SPDX-License-Identifier: MIT */
/*
 * See trace_stream.h: one way through merge and text for nop, function and events, another for a
 * trace of calls. Owns neither reader nor output. Costs per record what they cost.
 * Tests: tests/cli/test_report.py, tests/tracefs/.
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
	/* one pair */
	struct merge *merge;
	struct trace_text *text;
	/* or the other */
	struct graph_events *events;
	struct graph_text *graph;
};

static int begin_graph(struct trace_stream *s, struct reader *r, struct out *o,
		       const struct trace_shape *shape)
{
	int err;

	s->graph =
		graph_text_new(r, o, shape->cpus, (graph_options_of(r) & shape->keep) | shape->set);
	if (!s->graph)
		return fail(ENOMEM, "out of memory");
	s->events = graph_events_new(r, shape->cpus, true, &err);
	if (!s->events)
		return err;
	if (!shape->no_header)
		graph_text_header(s->graph);
	return 0;
}

static int begin_text(struct trace_stream *s, struct reader *r, struct out *o,
		      const struct trace_shape *shape)
{
	unsigned int cpu;

	s->text = trace_text_new(r, o, shape->cpus);
	s->merge = merge_new(r);
	if (!s->text || !s->merge)
		return fail(ENOMEM, "out of memory");
	for (cpu = 0; shape->cpus && cpu < r->nr_cpus; cpu++) {
		if (!shape->cpus[cpu])
			merge_skip_cpu(s->merge, cpu);
	}
	if (shape->no_header)
		trace_text_pipe(s->text);
	else
		trace_text_header(s->text);
	return 0;
}

struct trace_stream *trace_stream_new(struct reader *r, struct out *o,
				      const struct trace_shape *shape, int *err)
{
	struct trace_stream *s = calloc(1, sizeof(*s));

	if (!s) {
		*err = fail(ENOMEM, "out of memory");
		return NULL;
	}
	if (r->graph || !strcmp(r->tracer, "function_graph"))
		*err = begin_graph(s, r, o, shape);
	else
		*err = begin_text(s, r, o, shape);
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

uint64_t trace_stream_nr_taken(const struct trace_stream *s, unsigned int cpu)
{
	return s->events ? graph_events_nr_taken(s->events, cpu) : merge_nr_taken(s->merge, cpu);
}
