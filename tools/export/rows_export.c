/* SPDX-License-Identifier: MIT */
/*
 * A row for each call and each other record, for spreadsheets, databases and scripts: CSV (RFC
 * 4180, with a header) and lines of JSON. A call's row comes when it ends, so after the rows of the
 * calls beneath it; sort by time for another order. Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/export/call_export.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

struct row {
	const char *kind; /* call, event, print or function */
	uint64_t time, duration, self;
	uint32_t depth, cpu;
	int32_t tid;
	bool is_call;
	const char *name, *object, *text, *buffer;
};

struct rows {
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

static void rows_other(struct call_export *x, const struct record *rec)
{
	struct rows *own = x->own;
	struct row row = {.time = rec->ts,
			  .cpu = rec->cpu,
			  .tid = rec->pid,
			  .object = "",
			  .buffer = call_export_record_buffer(x, rec)};

	row.kind = rec->kind == RECORD_EVENT   ? "event"
		   : rec->kind == RECORD_PRINT ? "print"
					       : "function";
	x->err = other_text_take(own->text, rec, &row.name, &row.text);
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
	other_text_free(((struct rows *)x->own)->text);
}

int csv_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct rows),
						  .begin = csv_begin,
						  .call = rows_call,
						  .other = rows_other,
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
						  .free = rows_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
