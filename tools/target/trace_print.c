/* SPDX-License-Identifier: MIT */
/* See trace_print.h. Tests: tests/cli/test_report.py, test_control.py. */
#include "tools/target/trace_print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/analysis/graph_events.h"
#include "tools/analysis/merge.h"
#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/text/graph_text.h"
#include "tools/text/trace_text.h"

/* All records of @r, through @o. Return: 0 or -errno with fail() set; -EPIPE without. */
static int print_all(struct reader *r, struct out *o, const bool *cpus)
{
	struct trace_text *text = trace_text_new(r, o, cpus);
	struct merge *merge = merge_new(r);
	const struct record *rec;
	unsigned int cpu;
	int ret = 1;

	if (!text || !merge)
		ret = fail(ENOMEM, "out of memory");
	for (cpu = 0; merge && cpus && cpu < r->nr_cpus; cpu++) {
		if (!cpus[cpu])
			merge_skip_cpu(merge, cpu);
	}
	if (ret > 0)
		trace_text_header(text);
	while (ret > 0 && !o->err) {
		ret = merge_next(merge, &rec);
		if (ret > 0)
			trace_text_record(text, rec);
	}
	merge_free(merge);
	trace_text_free(text);
	return ret < 0 ? ret : 0;
}

/* The same under function_graph. */
static int print_graph(struct reader *r, struct out *o, const bool *cpus, uint32_t options)
{
	struct graph_text *text = graph_text_new(r, o, cpus, options);
	struct graph_events *events = NULL;
	const struct graph_event *ev;
	int ret;

	if (!text)
		return fail(ENOMEM, "out of memory");
	events = graph_events_new(r, cpus, true, &ret);
	if (events) {
		graph_text_header(text);
		ret = 1;
	}
	while (ret > 0 && !o->err) {
		ret = graph_events_next(events, &ev);
		if (ret > 0)
			graph_text_event(text, ev);
	}
	if (!ret && graph_events_too_deep(events))
		note("%" PRIu64 " calls were nested deeper than is kept and are left out",
		     graph_events_too_deep(events));
	graph_events_free(events);
	graph_text_free(text);
	return ret < 0 ? ret : 0;
}

int trace_print(struct reader *r, const bool *cpus, uint32_t set, uint32_t keep)
{
	struct out o;
	int ret, err;

	fflush(stdout);
	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	if (r->graph || strcmp(r->tracer, "function_graph") == 0)
		ret = print_graph(r, &o, cpus, (graph_options_of(r) & keep) | set);
	else
		ret = print_all(r, &o, cpus);
	err = out_end(&o);
	/* who closes the pipe has seen enough */
	if (!ret && err && err != -EPIPE)
		ret = fail_errno(-err, "cannot write the report");
	return ret;
}
