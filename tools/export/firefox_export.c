/* SPDX-License-Identifier: MIT */
/*
 * The Firefox profiler's processed format, version 54 (docs-developer/processed-profile-format.md
 * of firefox-devtools/profiler), for profiler.firefox.com. A thread has a sample at each change of
 * its stack of calls. A sample's weight is the time until the next one, so times are exact. Other
 * records are markers. Times are milliseconds from the trace's beginning, with six decimals.
 *
 * The format has a row for each thread and a column for each field, so calls and markers are sorted
 * first; if there are many, in files (sorter.h). The texts of markers may be in a file as well
 * (spill.h). Memory: 100 MB and the tree of one thread's stacks, for any number of calls. Tests:
 * tests/cli/test_export_firefox.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/call_tree.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/sorter.h"
#include "tools/base/spill.h"
#include "tools/export/call_export.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

#define SPANS_BYTES   (64u << 20)
#define MARKERS_BYTES (16u << 20)
#define TEXTS_BYTES   (1u << 16)

struct span {
	uint64_t track, start, end;
	uint32_t function, depth;
	int32_t tid;
};

struct marker {
	uint64_t ts;
	uint64_t texts; /* offset of its name and text in the file of texts, each with a NUL */
	uint32_t bytes; /* of name and text */
	int32_t tid;
};

struct firefox {
	struct other_text *text;
	struct sorter spans, markers;
	struct spill texts; /* of markers */
	char *marker;	    /* the texts of one marker */
	size_t room_marker;
	/* the row that is written, of a thread or a stack; its open calls and paths of calls */
	uint64_t track;
	uint64_t nr_markers_of_row;
	size_t nr_open, room_open;
	struct call_tree tree;
	struct open {
		uint64_t end;
		uint32_t node;
	} * open;
	uint32_t *numbers; /* by function: 1 + its number in this row */
	uint32_t nr_functions;
};

static int no_memory(void)
{
	return fail(ENOMEM, "out of memory");
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *s = a, *t = b;

	if (s->track != t->track)
		return s->track < t->track ? -1 : 1;
	if (s->start != t->start)
		return s->start < t->start ? -1 : 1;
	if (s->end != t->end)
		return s->end > t->end ? -1 : 1;
	return s->depth < t->depth ? -1 : s->depth > t->depth;
}

static int compare_markers(const void *a, const void *b)
{
	const struct marker *m = a, *n = b;

	if (m->tid != n->tid)
		return m->tid < n->tid ? -1 : 1;
	if (m->ts != n->ts)
		return m->ts < n->ts ? -1 : 1;
	return m->texts < n->texts ? -1 : m->texts > n->texts;
}

static int firefox_begin(struct call_export *x)
{
	struct firefox *own = x->own;
	const char *beside = x->to_stdout ? "-" : x->path;

	sorter_init(&own->spans, sizeof(struct span), compare_spans, SPANS_BYTES, beside);
	sorter_init(&own->markers, sizeof(struct marker), compare_markers, MARKERS_BYTES, beside);
	spill_init(&own->texts, TEXTS_BYTES, beside);
	own->text = other_text_new(x->v->r);
	return own->text ? 0 : -ENOMEM;
}

static void firefox_call(struct call_export *x, const struct call *call, const struct call *parent,
			 const struct call_function *fn)
{
	struct firefox *own = x->own;
	struct span span = {.track = call_export_track(x, call),
			    .start = call->start,
			    .end = call->end,
			    .function = (uint32_t)call->data,
			    .depth = call->depth,
			    .tid = call->pid};

	(void)parent;
	(void)fn;
	if (!x->err)
		x->err = sorter_add(&own->spans, &span);
}

static void keep(struct call_export *x, const char *text)
{
	struct firefox *own = x->own;

	if (!x->err)
		x->err = spill_add(&own->texts, text, strlen(text) + 1);
}

static void firefox_other(struct call_export *x, const struct record *rec)
{
	struct firefox *own = x->own;
	struct marker m = {.ts = rec->ts, .tid = rec->pid, .texts = spill_end(&own->texts)};
	const char *name, *text, *buffer = call_export_record_buffer(x, rec);
	char *with = NULL;

	x->err = other_text_take(own->text, rec, &name, &text);
	if (*buffer && !x->err && asprintf(&with, "%s: %s", buffer, name) < 0) {
		with = NULL;
		x->err = no_memory();
	}
	if (!x->err)
		keep(x, with ? with : name);
	free(with);
	if (!x->err)
		keep(x, text);
	m.bytes = (uint32_t)(spill_end(&own->texts) - m.texts);
	if (!x->err)
		x->err = sorter_add(&own->markers, &m);
}

/* The name and the text of a marker. Borrowed until the next call. NULL: x->err is set. */
static const char *marker_texts(struct call_export *x, const struct marker *m)
{
	struct firefox *own = x->own;

	if (m->bytes > own->room_marker) {
		char *more = realloc(own->marker, m->bytes);

		if (!more) {
			x->err = no_memory();
			return NULL;
		}
		own->marker = more;
		own->room_marker = m->bytes;
	}
	x->err = spill_get(&own->texts, m->texts, own->marker, m->bytes);
	return x->err ? NULL : own->marker;
}

/* A column of samples. */
enum column { NODES, TIMES, WEIGHTS };

struct walk {
	enum column column;
	uint64_t first_ts, nr;
};

static void put_ms(struct out *o, uint64_t ns)
{
	out_printf(o, "%" PRIu64 ".%06u", ns / 1000000, (unsigned int)(ns % 1000000));
}

/* A sample from @from to @to. @node: the innermost open call in the tree; 0: no call is open. */
static void put_sample(struct call_export *x, struct walk *w, uint64_t from, uint64_t to,
		       uint32_t node)
{
	if (from >= to)
		return;
	if (w->nr)
		out_text(&x->o, ",");
	w->nr++;
	if (w->column == NODES && node)
		out_printf(&x->o, "%u", node - 1);
	else if (w->column == NODES)
		out_text(&x->o, "null");
	else if (w->column == TIMES)
		put_ms(&x->o, from > w->first_ts ? from - w->first_ts : 0);
	else
		put_ms(&x->o, to - from);
}

/* The next call of the row; NULL: there are no more. Borrowed until the next call. */
static const struct span *next_span(struct firefox *own)
{
	const struct span *s = sorter_peek(&own->spans);

	return s && s->track == own->track ? sorter_next(&own->spans) : NULL;
}

/* The next marker of the row, likewise. */
static const struct marker *next_marker(struct firefox *own)
{
	const struct marker *m = sorter_peek(&own->markers);

	return m && (uint32_t)m->tid == own->track ? sorter_next(&own->markers) : NULL;
}

/* Write a column of the row's samples, in order of time. Return: the number of samples. */
static uint64_t put_samples(struct call_export *x, enum column column)
{
	struct firefox *own = x->own;
	struct walk w = {.column = column, .first_ts = x->v->first_ts};
	const struct span *s;
	uint64_t now = 0;
	bool any = false;

	if (!x->err)
		x->err = sorter_back(&own->spans);
	own->nr_open = 0;
	do {
		struct open *top;
		uint32_t node;
		uint64_t end;

		s = next_span(own);
		end = s ? s->end : 0;
		if (!any)
			now = s ? s->start : 0;
		any = true;
		while (own->nr_open && (!s || own->open[own->nr_open - 1].end <= s->start)) {
			top = &own->open[--own->nr_open];
			put_sample(x, &w, now, top->end, top->node);
			now = top->end > now ? top->end : now;
		}
		if (!s)
			break;
		top = own->nr_open ? &own->open[own->nr_open - 1] : NULL;
		put_sample(x, &w, now, s->start, top ? top->node : 0);
		now = s->start > now ? s->start : now;
		if (top && end > top->end)
			end = top->end;
		node = call_tree_child(&own->tree, top ? top->node : 0, s->function, false);
		if (!node)
			x->err = own->tree.err
					 ? own->tree.err
					 : fail(E2BIG, "a thread has more than %u paths of calls",
						CALL_TREE_MAX);
		else if (ARRAY_ROOM(own->open, own->nr_open, own->room_open, 64))
			x->err = no_memory();
		else
			own->open[own->nr_open++] = (struct open){end, node};
	} while (s && !x->err);
	if (!x->err)
		x->err = own->spans.err;
	return w.nr;
}

/* Write `"name":[VALUE,VALUE ...]`: @nr times the same value. */
static void put_same(struct call_export *x, const char *name, size_t nr, const char *value)
{
	out_printf(&x->o, ",\"%s\":[", name);
	for (size_t i = 0; i < nr && !x->o.err; i++)
		out_printf(&x->o, i ? ",%s" : "%s", value);
	out_text(&x->o, "]");
}

/* Write `"name":[0,1,2 ...]`: @nr numbers. */
static void put_numbers(struct call_export *x, const char *name, size_t nr)
{
	out_printf(&x->o, ",\"%s\":[", name);
	for (size_t i = 0; i < nr && !x->o.err; i++)
		out_printf(&x->o, i ? ",%zu" : "%zu", i);
	out_text(&x->o, "]");
}

/*
 * Number the functions of the row, in the order of their first nodes in the tree. Each is a frame.
 * Return: the number of functions.
 */
static uint32_t number_functions(struct firefox *own)
{
	uint32_t nr = 0;

	memset(own->numbers, 0, own->nr_functions * sizeof(*own->numbers));
	for (uint32_t i = 1; i < own->tree.nr; i++)
		if (!own->numbers[own->tree.nodes[i].function])
			own->numbers[own->tree.nodes[i].function] = ++nr;
	return nr;
}

static void put_tables(struct call_export *x, uint32_t nr)
{
	struct firefox *own = x->own;
	const struct call_node *nodes = own->tree.nodes;

	out_printf(&x->o, "\"frameTable\":{\"length\":%u", nr);
	put_same(x, "address", nr, "-1");
	put_same(x, "inlineDepth", nr, "0");
	put_same(x, "category", nr, "0");
	put_same(x, "subcategory", nr, "0");
	put_numbers(x, "func", nr);
	put_same(x, "nativeSymbol", nr, "null");
	put_same(x, "innerWindowID", nr, "null");
	put_same(x, "line", nr, "null");
	put_same(x, "column", nr, "null");
	out_printf(&x->o, "},\n\"funcTable\":{\"length\":%u", nr);
	put_numbers(x, "name", nr);
	put_same(x, "isJS", nr, "false");
	put_same(x, "relevantForJS", nr, "false");
	put_numbers(x, "resource", nr);
	put_same(x, "fileName", nr, "null");
	put_same(x, "lineNumber", nr, "null");
	put_same(x, "columnNumber", nr, "null");
	/* a resource for each function: its object */
	out_printf(&x->o, "},\n\"resourceTable\":{\"length\":%u,\"name\":[", nr);
	for (uint32_t i = 0; i < nr; i++)
		out_printf(&x->o, i ? ",%u" : "%u", nr + i);
	out_text(&x->o, "]");
	put_same(x, "lib", nr, "null");
	put_same(x, "host", nr, "null");
	put_same(x, "type", nr, "1");
	out_printf(&x->o, "},\n\"stackTable\":{\"length\":%u,\"prefix\":[", own->tree.nr - 1);
	for (uint32_t i = 1; i < own->tree.nr; i++) {
		out_text(&x->o, i > 1 ? "," : "");
		if (nodes[i].parent)
			out_printf(&x->o, "%u", nodes[i].parent - 1);
		else
			out_text(&x->o, "null");
	}
	out_text(&x->o, "],\"frame\":[");
	for (uint32_t i = 1; i < own->tree.nr; i++)
		out_printf(&x->o, i > 1 ? ",%u" : "%u", own->numbers[nodes[i].function] - 1);
	out_text(&x->o, "]},\n");
}

/* Go back to the first marker of the row. NULL: there is none, or x->err is set. */
static const struct marker *first_marker(struct call_export *x)
{
	struct firefox *own = x->own;

	if (!x->err)
		x->err = sorter_back(&own->markers);
	return x->err ? NULL : next_marker(own);
}

/* Write the names of the functions, then of their objects, then of the markers. */
static void put_strings(struct call_export *x)
{
	struct firefox *own = x->own;
	const struct call_filter *filter = x->v->filter;
	char buf[CALL_NAME_BYTES];
	const char *comma = "";

	out_text(&x->o, "\"stringArray\":[");
	for (unsigned int objects = 0; objects < 2; objects++) {
		uint32_t next = 1;

		for (uint32_t i = 1; i < own->tree.nr; i++) {
			uint32_t function = own->tree.nodes[i].function;
			const struct call_function *fn = call_filter_function(filter, function);

			if (own->numbers[function] != next)
				continue;
			next++;
			out_text(&x->o, comma);
			comma = ",";
			json_put(&x->o, objects ? call_export_object(x->v, fn)
						: call_export_name(fn, buf));
		}
	}
	for (const struct marker *m = first_marker(x); m; m = next_marker(own)) {
		const char *texts = marker_texts(x, m);

		if (!texts)
			break;
		out_text(&x->o, comma);
		comma = ",";
		json_put(&x->o, texts);
	}
	out_text(&x->o, "],\n");
}

static void put_markers(struct call_export *x, uint32_t nr_functions)
{
	struct firefox *own = x->own;
	size_t nr = own->nr_markers_of_row, i = 0;

	out_printf(&x->o, "\"markers\":{\"length\":%zu", nr);
	put_same(x, "category", nr, "0");
	put_same(x, "phase", nr, "0");
	put_same(x, "endTime", nr, "null");
	out_text(&x->o, ",\"startTime\":[");
	for (const struct marker *m = first_marker(x); m; m = next_marker(own)) {
		out_text(&x->o, i++ ? "," : "");
		put_ms(&x->o, m->ts > x->v->first_ts ? m->ts - x->v->first_ts : 0);
	}
	out_text(&x->o, "],\"name\":[");
	for (i = 0; i < nr && !x->o.err; i++)
		out_printf(&x->o, i ? ",%zu" : "%zu", 2 * (size_t)nr_functions + i);
	out_text(&x->o, "],\"data\":[");
	i = 0;
	for (const struct marker *m = first_marker(x); m; m = next_marker(own)) {
		const char *texts = marker_texts(x, m);

		if (!texts)
			break;
		out_text(&x->o,
			 i++ ? ",{\"type\":\"event\",\"text\":" : "{\"type\":\"event\",\"text\":");
		json_put(&x->o, texts + strlen(texts) + 1);
		out_text(&x->o, "}");
	}
	out_text(&x->o, "]},\n");
}

static void put_row(struct call_export *x, uint64_t track, int32_t tid)
{
	struct firefox *own = x->own;
	const struct tasks *tasks = x->v->r->tasks;
	int32_t tgid = tasks_tgid(tasks, tid) ? tasks_tgid(tasks, tid) : tid;
	bool is_stack = track > INT32_MAX;
	char name[32];
	uint64_t nr_samples;
	uint32_t nr;

	if (call_tree_init(&own->tree, x->v->filter, false, false)) {
		x->err = -ENOMEM;
		return;
	}
	snprintf(name, sizeof(name), "stack %" PRIu64, track - (UINT64_C(1) << 31));
	out_text(&x->o, "{\"name\":");
	json_put(&x->o, is_stack ? name : tasks_comm(tasks, tid));
	out_printf(&x->o, ",\"isMainThread\":%s,\"pid\":\"%d\",\"tid\":\"%" PRIu64 "\"",
		   !is_stack && tid == tgid ? "true" : "false", (int)tgid, track);
	out_text(&x->o, ",\"processType\":\"default\",\"processName\":");
	json_put(&x->o, tasks_comm(tasks, tgid));
	out_text(&x->o, ",\"processStartupTime\":0,\"processShutdownTime\":null,"
			"\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
			"\"showMarkersInTimeline\":true,\n\"samples\":{\"weightType\":"
			"\"tracing-ms\",\"stack\":[");
	nr_samples = put_samples(x, NODES);
	out_text(&x->o, "],\n\"time\":[");
	put_samples(x, TIMES);
	out_text(&x->o, "],\n\"weight\":[");
	put_samples(x, WEIGHTS);
	out_printf(&x->o, "],\"length\":%" PRIu64 "},\n", nr_samples);
	nr = number_functions(own);
	put_tables(x, nr);
	put_markers(x, nr);
	put_strings(x);
	out_text(&x->o, "\"nativeSymbols\":{\"length\":0,\"address\":[],\"functionSize\":[],"
			"\"libIndex\":[],\"name\":[]}}");
	call_tree_clear(&own->tree);
}

/* Write all rows, with calls or only with markers, in the order of their numbers. */
static void put_rows(struct call_export *x)
{
	struct firefox *own = x->own;
	bool any = false;

	while (!x->err && !x->o.err) {
		const struct span *s = sorter_peek(&own->spans);
		const struct marker *m = sorter_peek(&own->markers);
		uint64_t of_marker = m ? (uint32_t)m->tid : UINT64_MAX;
		int32_t tid;

		x->err = own->spans.err ? own->spans.err : own->markers.err;
		if (x->err || (!s && !m))
			break;
		own->track = s ? s->track : UINT64_MAX;
		tid = s ? s->tid : 0;
		if (of_marker < own->track) {
			own->track = of_marker;
			tid = m->tid;
		}
		sorter_mark(&own->spans);
		sorter_mark(&own->markers);
		own->nr_markers_of_row = 0;
		while (next_marker(own))
			own->nr_markers_of_row++;
		out_text(&x->o, any ? ",\n" : "\n");
		any = true;
		put_row(x, own->track, tid);
	}
}

static void firefox_end(struct call_export *x)
{
	struct firefox *own = x->own;

	own->nr_functions = call_filter_nr(x->v->filter);
	own->numbers = calloc(own->nr_functions + 1u, sizeof(*own->numbers));
	if (!own->numbers) {
		x->err = no_memory();
		return;
	}
	if (!x->err)
		x->err = sorter_end(&own->spans);
	if (!x->err)
		x->err = sorter_end(&own->markers);
	out_text(&x->o, "{\"meta\":{\"preprocessedProfileVersion\":54,\"version\":24,"
			"\"interval\":0.000001,\"startTime\":0,\"processType\":0,\"product\":");
	json_put(&x->o, *x->v->r->cmdline ? x->v->r->cmdline : "vestige");
	out_text(&x->o, ",\"importedFrom\":\"vestige\",\"debug\":false,\"symbolicated\":true,"
			"\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
			"\"pausedRanges\":[],\"extensions\":{\"length\":0,\"baseURL\":[],"
			"\"id\":[],\"name\":[]},\n\"sampleUnits\":{\"time\":\"ms\","
			"\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},\n\"categories\":[{"
			"\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\n"
			"\"markerSchema\":[{\"name\":\"event\",\"display\":[\"marker-chart\","
			"\"marker-table\",\"timeline-overview\"],\"tableLabel\":"
			"\"{marker.data.text}\",\"data\":[{\"key\":\"text\",\"label\":\"Details\","
			"\"format\":\"string\",\"searchable\":true}]}]},\n\"libs\":[],\"pages\":[],"
			"\"profilerOverhead\":[],\"counters\":[],\"threads\":[");
	put_rows(x);
	out_text(&x->o, "]}\n");
}

static void firefox_free(struct call_export *x)
{
	struct firefox *own = x->own;

	other_text_free(own->text);
	if (own->tree.nodes)
		call_tree_clear(&own->tree);
	sorter_clear(&own->spans);
	sorter_clear(&own->markers);
	spill_clear(&own->texts);
	free(own->marker);
	free(own->open);
	free(own->numbers);
}

int firefox_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct firefox),
						  .begin = firefox_begin,
						  .call = firefox_call,
						  .other = firefox_other,
						  .end = firefox_end,
						  .free = firefox_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
