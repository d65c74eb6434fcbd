/* SPDX-License-Identifier: MIT */
/*
 * The Firefox profiler's processed format, version 54 (docs-developer/processed-profile-format.md of
 * firefox-devtools/profiler), for profiler.firefox.com. A thread has a sample where its stack of
 * calls changes; the sample's weight is the time until the next one, so times are exact. Other
 * records are markers. Times are milliseconds from the trace's beginning with six decimals.
 *
 * The format is by thread and by column, so all calls are in memory: 40 bytes each.
 * Tests: tests/cli/test_export_firefox.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/analysis/call_tree.h"
#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/export/call_export.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

#define MAX_CALLS      6000000u	   /* 240 MB */
#define MAX_TEXT_BYTES (64u << 20) /* of markers */

struct span {
	uint64_t track, start, end;
	uint32_t function, depth;
	int32_t tid;
};

struct marker {
	uint64_t ts;
	size_t name, text; /* in texts */
	int32_t tid;
};

struct firefox {
	struct other_text *text;
	struct span *spans;
	struct marker *markers;
	char *texts;
	size_t nr, room, nr_markers, room_markers, nr_texts, room_texts;
	/* of the row that is written: its calls or markers, and the paths of its stacks */
	const struct span *first;
	size_t nr_of_row, nr_open, room_open;
	const struct marker *first_marker;
	size_t nr_markers_of_row;
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

static int firefox_begin(struct call_export *x)
{
	struct firefox *own = x->own;

	own->text = other_text_new(x->v->r);
	return own->text ? 0 : -ENOMEM;
}

static void firefox_call(struct call_export *x, const struct call *call, const struct call *parent,
			 const struct call_function *fn)
{
	struct firefox *own = x->own;

	(void)parent;
	(void)fn;
	if (own->nr == MAX_CALLS)
		x->err = fail(EFBIG,
			      "more than %u calls: choose a part by --time-range, --tids or "
			      "--functions",
			      MAX_CALLS);
	else if (ARRAY_ROOM(own->spans, own->nr, own->room, 4096))
		x->err = no_memory();
	else
		own->spans[own->nr++] = (struct span){.track = call_export_track(x, call),
						      .start = call->start,
						      .end = call->end,
						      .function = (uint32_t)call->data,
						      .depth = call->depth,
						      .tid = call->pid};
}

static size_t keep(struct call_export *x, const char *text)
{
	struct firefox *own = x->own;
	size_t bytes = strlen(text) + 1, at = own->nr_texts;

	if (bytes > MAX_TEXT_BYTES - own->nr_texts) {
		x->err = fail(EFBIG,
			      "the texts of events are more than %u MB: choose a part by "
			      "--time-range",
			      MAX_TEXT_BYTES >> 20);
		return 0;
	}
	while (own->room_texts - own->nr_texts < bytes) {
		size_t room = own->room_texts ? 2 * own->room_texts : 1 << 16;
		char *more = realloc(own->texts, room);

		if (!more) {
			x->err = no_memory();
			return 0;
		}
		own->texts = more;
		own->room_texts = room;
	}
	memcpy(own->texts + at, text, bytes);
	own->nr_texts += bytes;
	return at;
}

static void firefox_other(struct call_export *x, const struct record *rec)
{
	struct firefox *own = x->own;
	struct marker m = {.ts = rec->ts, .tid = rec->pid};
	const char *name, *text, *buffer = call_export_record_buffer(x, rec);
	char *with = NULL;

	x->err = other_text_take(own->text, rec, &name, &text);
	if (*buffer && !x->err && asprintf(&with, "%s: %s", buffer, name) < 0) {
		with = NULL;
		x->err = no_memory();
	}
	if (!x->err)
		m.name = keep(x, with ? with : name);
	free(with);
	if (!x->err)
		m.text = keep(x, text);
	if (!x->err && ARRAY_ROOM(own->markers, own->nr_markers, own->room_markers, 256))
		x->err = no_memory();
	if (!x->err)
		own->markers[own->nr_markers++] = m;
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
	return m->ts < n->ts ? -1 : m->ts > n->ts;
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

/* From @from to @to node @node is the innermost; 0: no call is open. */
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

/* The samples of the row, in order of time. Return: how many there are. */
static uint64_t put_samples(struct call_export *x, enum column column)
{
	struct firefox *own = x->own;
	struct walk w = {.column = column, .first_ts = x->v->first_ts};
	uint64_t now = own->nr_of_row ? own->first->start : 0;

	own->nr_open = 0;
	for (size_t i = 0; i <= own->nr_of_row && !x->err; i++) {
		const struct span *s = i < own->nr_of_row ? &own->first[i] : NULL;
		uint64_t end = s ? s->end : 0;
		struct open *top;
		uint32_t node;

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
	}
	return w.nr;
}

/* `"name":[VALUE,VALUE ...]`, the same for each of @nr. */
static void put_same(struct call_export *x, const char *name, size_t nr, const char *value)
{
	out_printf(&x->o, ",\"%s\":[", name);
	for (size_t i = 0; i < nr && !x->o.err; i++)
		out_printf(&x->o, i ? ",%s" : "%s", value);
	out_text(&x->o, "]");
}

static void put_numbers(struct call_export *x, const char *name, size_t nr)
{
	out_printf(&x->o, ",\"%s\":[", name);
	for (size_t i = 0; i < nr && !x->o.err; i++)
		out_printf(&x->o, i ? ",%zu" : "%zu", i);
	out_text(&x->o, "]");
}

/* A frame is a function: their numbers, in the order in which the tree has them first. */
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
	/* a resource for each function: the library that it is in */
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

/* Functions, then their objects, then the markers' names. */
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
	for (size_t i = 0; i < own->nr_markers_of_row; i++) {
		out_text(&x->o, comma);
		comma = ",";
		json_put(&x->o, own->texts + own->first_marker[i].name);
	}
	out_text(&x->o, "],\n");
}

static void put_markers(struct call_export *x, uint32_t nr_functions)
{
	struct firefox *own = x->own;
	const struct marker *m = own->first_marker;
	size_t nr = own->nr_markers_of_row;

	out_printf(&x->o, "\"markers\":{\"length\":%zu", nr);
	put_same(x, "category", nr, "0");
	put_same(x, "phase", nr, "0");
	put_same(x, "endTime", nr, "null");
	out_text(&x->o, ",\"startTime\":[");
	for (size_t i = 0; i < nr; i++) {
		out_text(&x->o, i ? "," : "");
		put_ms(&x->o, m[i].ts > x->v->first_ts ? m[i].ts - x->v->first_ts : 0);
	}
	out_text(&x->o, "],\"name\":[");
	for (size_t i = 0; i < nr; i++)
		out_printf(&x->o, i ? ",%zu" : "%zu", 2 * (size_t)nr_functions + i);
	out_text(&x->o, "],\"data\":[");
	for (size_t i = 0; i < nr; i++) {
		out_text(&x->o,
			 i ? ",{\"type\":\"event\",\"text\":" : "{\"type\":\"event\",\"text\":");
		json_put(&x->o, own->texts + m[i].text);
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

/* The rows, those of calls and those that have markers alone, in the order of their numbers. */
static void put_rows(struct call_export *x)
{
	struct firefox *own = x->own;
	size_t i = 0, k = 0;

	for (bool any = false; !x->err && !x->o.err && (i < own->nr || k < own->nr_markers);
	     any = true) {
		uint64_t track = i < own->nr ? own->spans[i].track : UINT64_MAX;
		uint64_t of_marker =
			k < own->nr_markers ? (uint32_t)own->markers[k].tid : UINT64_MAX;
		int32_t tid;

		if (of_marker < track)
			track = of_marker;
		own->first = own->spans + i;
		own->first_marker = own->markers + k;
		for (own->nr_of_row = 0; i < own->nr && own->spans[i].track == track; i++)
			own->nr_of_row++;
		own->nr_markers_of_row = 0;
		for (; k < own->nr_markers && (uint32_t)own->markers[k].tid == track; k++)
			own->nr_markers_of_row++;
		tid = own->nr_of_row ? own->first->tid : own->first_marker->tid;
		out_text(&x->o, any ? ",\n" : "\n");
		put_row(x, track, tid);
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
	if (own->nr)
		qsort(own->spans, own->nr, sizeof(*own->spans), compare_spans);
	if (own->nr_markers)
		qsort(own->markers, own->nr_markers, sizeof(*own->markers), compare_markers);
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
	free(own->spans);
	free(own->markers);
	free(own->texts);
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
