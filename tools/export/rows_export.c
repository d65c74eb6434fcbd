/* SPDX-License-Identifier: MIT */
/*
 * A row for each call and each other record, for spreadsheets, databases and scripts: CSV (RFC
 * 4180, with a header) and lines of JSON. A call's row is written when the call ends, so after the
 * rows of the calls beneath it; sort by time for another order. atrace's marks become rows of
 * sections, with their times, and of counters. Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/base/hash_index.h"
#include "tools/export/call_export.h"
#include "tools/text/atrace_mark.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

struct row {
	const char *
		kind; /* call, section, async_begin, async_end, counter, event, print or function */
	uint64_t time, duration, self;
	uint32_t depth, cpu;
	int32_t tid;
	bool is_call;
	const char *name, *object, *text, *buffer;
};

/* The open sections of a thread. */
struct sections {
	int32_t tid;
	size_t nr, room;
	struct section {
		uint64_t ts, children;
		char *name;
	} * at;
};

struct rows {
	struct sections *threads;
	size_t nr, room;
	struct hash_index by_tid; /* of threads */
	uint64_t last_ts;
	struct other_text *text;
	void (*put)(struct call_export *x, const struct row *row);
};

static void put_quoted(struct out *o, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		out_text(o, text);
		return;
	}
	out_text(o, "\"");
	for (; *text; text++)
		out_write(o, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	out_text(o, "\"");
}

static void put_csv(struct call_export *x, const struct row *row)
{
	struct out *o = &x->o;

	out_printf(o, "%s,%" PRIu64 ",", row->kind, row->time);
	if (row->is_call)
		out_printf(o, "%" PRIu64 ",%" PRIu64 ",%u,,", row->duration, row->self, row->depth);
	else
		out_printf(o, ",,,%u,", row->cpu);
	out_printf(o, "%d,", (int)row->tid);
	put_quoted(o, tasks_comm(x->v->r->tasks, row->tid));
	out_text(o, ",");
	put_quoted(o, row->name);
	out_text(o, ",");
	put_quoted(o, row->object);
	out_text(o, ",");
	put_quoted(o, row->text);
	out_text(o, ",");
	put_quoted(o, row->buffer);
	out_text(o, "\n");
}

static void put_json(struct call_export *x, const struct row *row)
{
	struct out *o = &x->o;

	out_printf(o, "{\"kind\":\"%s\",\"time\":%" PRIu64, row->kind, row->time);
	if (row->is_call)
		out_printf(o, ",\"duration\":%" PRIu64 ",\"self\":%" PRIu64 ",\"depth\":%u",
			   row->duration, row->self, row->depth);
	else
		out_printf(o, ",\"cpu\":%u", row->cpu);
	out_printf(o, ",\"tid\":%d,\"comm\":", (int)row->tid);
	json_put(o, tasks_comm(x->v->r->tasks, row->tid));
	out_text(o, ",\"name\":");
	json_put(o, row->name);
	if (*row->object) {
		out_text(o, ",\"object\":");
		json_put(o, row->object);
	}
	if (*row->text) {
		out_text(o, ",\"text\":");
		json_put(o, row->text);
	}
	if (*row->buffer) {
		out_text(o, ",\"buffer\":");
		json_put(o, row->buffer);
	}
	out_text(o, "}\n");
}

static void rows_call(struct call_export *x, const struct call *call, const struct call *parent,
		      const struct call_function *fn)
{
	struct rows *own = x->own;
	char buf[CALL_NAME_BYTES];
	uint64_t ns = call->end - call->start, not_self = call->children + call->suspended;

	(void)parent;
	own->put(x, &(struct row){
			    .kind = "call",
			    .time = call->start,
			    .duration = ns,
			    .self = ns > not_self ? ns - not_self : 0,
			    .depth = call->depth,
			    .tid = call->pid,
			    .is_call = true,
			    .name = call_export_name(fn, buf),
			    .object = call_export_object(x->v, fn),
			    .text = call->flags & CALL_UNWOUND	    ? "unwound"
				    : call->flags & CALL_UNFINISHED ? "unfinished"
								    : "",
			    .buffer = call_export_buffer(x, call),
		    });
}

static struct sections *sections_of(struct rows *own, int32_t tid)
{
	uint64_t hash = hash_u64((uint32_t)tid);
	int64_t found = HASH_INDEX_FIND(&own->by_tid, hash, i, own->threads[i].tid == tid);

	if (found >= 0)
		return &own->threads[found];
	if (ARRAY_ROOM(own->threads, own->nr, own->room, 16) ||
	    hash_index_add(&own->by_tid, hash, (uint32_t)own->nr))
		return NULL;
	own->threads[own->nr] = (struct sections){.tid = tid};
	return &own->threads[own->nr++];
}

static void end_section(struct call_export *x, struct sections *t, uint64_t ts, const char *text,
			const char *buffer)
{
	struct section *s = &t->at[--t->nr];
	uint64_t ns = ts > s->ts ? ts - s->ts : 0;

	if (t->nr)
		t->at[t->nr - 1].children += ns;
	((struct rows *)x->own)
		->put(x, &(struct row){.kind = "section",
				       .time = s->ts,
				       .duration = ns,
				       .self = ns > s->children ? ns - s->children : 0,
				       .depth = (uint32_t)t->nr,
				       .tid = t->tid,
				       .is_call = true,
				       .name = s->name,
				       .object = "",
				       .text = text,
				       .buffer = buffer});
	free(s->name);
}

/* Return: 0; -ENOMEM with fail() set; 1: the end of a section whose begin was not seen. */
static int put_mark(struct call_export *x, const struct record *rec, const struct atrace_mark *mark)
{
	struct rows *own = x->own;
	struct sections *t = sections_of(own, rec->pid);
	const char *buffer = call_export_record_buffer(x, rec);
	char *name = NULL;

	if (mark->kind == 'E' && t) {
		if (!t->nr)
			return 1;
		end_section(x, t, rec->ts, "", buffer);
		return 0;
	}
	if (!t || !(name = strndup(mark->name, mark->name_bytes)) ||
	    ARRAY_ROOM(t->at, t->nr, t->room, 8)) {
		free(name);
		return fail(ENOMEM, "out of memory");
	}
	if (mark->kind == 'B') {
		t->at[t->nr++] = (struct section){.ts = rec->ts, .name = name};
		return 0;
	}
	own->put(x, &(struct row){.kind = mark->kind == 'C'   ? "counter"
					  : mark->kind == 'S' ? "async_begin"
							      : "async_end",
				  .time = rec->ts,
				  .cpu = rec->cpu,
				  .tid = rec->pid,
				  .name = name,
				  .object = "",
				  .text = mark->number,
				  .buffer = buffer});
	free(name);
	return 0;
}

/* Sections that are still open end at the last record that is not a call. */
static void rows_end(struct call_export *x)
{
	struct rows *own = x->own;

	for (size_t i = 0; i < own->nr; i++)
		while (own->threads[i].nr)
			end_section(x, &own->threads[i], own->last_ts, "unfinished", "");
}

static void rows_other(struct call_export *x, const struct record *rec)
{
	struct atrace_mark mark;
	struct rows *own = x->own;
	struct row row = {.time = rec->ts,
			  .cpu = rec->cpu,
			  .tid = rec->pid,
			  .object = "",
			  .buffer = call_export_record_buffer(x, rec)};

	row.kind = rec->kind == RECORD_EVENT   ? "event"
		   : rec->kind == RECORD_PRINT ? "print"
					       : "function";
	own->last_ts = rec->ts > own->last_ts ? rec->ts : own->last_ts;
	x->err = other_text_take(own->text, rec, &row.name, &row.text);
	if (!x->err && atrace_mark_of(rec, row.text, &mark)) {
		int done = put_mark(x, rec, &mark);

		if (done <= 0) {
			x->err = done;
			return;
		}
	}
	own->put(x, &row);
}

static int rows_begin(struct call_export *x)
{
	struct rows *own = x->own;

	own->text = other_text_new(x->v->r);
	return own->text ? 0 : -ENOMEM;
}

static int csv_begin(struct call_export *x)
{
	((struct rows *)x->own)->put = put_csv;
	out_text(&x->o, "kind,time,duration,self,depth,cpu,tid,comm,name,object,text,buffer\n");
	return rows_begin(x);
}

static int jsonl_begin(struct call_export *x)
{
	((struct rows *)x->own)->put = put_json;
	return rows_begin(x);
}

static void rows_free(struct call_export *x)
{
	struct rows *own = x->own;

	other_text_free(own->text);
	for (size_t i = 0; i < own->nr; i++) {
		while (own->threads[i].nr)
			free(own->threads[i].at[--own->threads[i].nr].name);
		free(own->threads[i].at);
	}
	free(own->threads);
	hash_index_clear(&own->by_tid);
}

int csv_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct rows),
						  .begin = csv_begin,
						  .call = rows_call,
						  .other = rows_other,
						  .end = rows_end,
						  .free = rows_free};

	(void)r;
	return call_export_each(path, opt, &format);
}

int jsonl_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct rows),
						  .begin = jsonl_begin,
						  .call = rows_call,
						  .other = rows_other,
						  .end = rows_end,
						  .free = rows_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
