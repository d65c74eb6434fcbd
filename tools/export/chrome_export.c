/* SPDX-License-Identifier: MIT */
/*
 * Chrome's trace event format ("Trace Event Format", the JSON object form), for chrome://tracing,
 * Perfetto's viewer and many others. An event has phase X for a call, M for a name, i for any other
 * record. atrace's marks have B and E (sections), b and e (asynchronous sections), C (counters).
 * Times are microseconds with three decimals. Tests: tests/cli/test_export.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/hash.h"
#include "tools/export/call_export.h"
#include "tools/text/atrace_mark.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/json.h"

#define NAMED_STACKS 4096u /* stacks that get a name; later ones have only their number */

struct chrome {
	struct other_text *text;
	uint64_t stacks[NAMED_STACKS]; /* process << 32 | stack: their names are written */
	unsigned int nr_stacks;
	int32_t *named; /* threads whose names are written: a hash table; 0: a free place */
	size_t nr_named, room_named;
	bool any;
};

static void next_event(struct call_export *x)
{
	struct chrome *own = x->own;

	out_text(&x->o, own->any ? ",\n" : "\n");
	own->any = true;
}

static int32_t process_of(const struct call_export *x, int32_t tid)
{
	int32_t tgid = tasks_tgid(x->v->r->tasks, tid);

	return tgid ? tgid : tid;
}

static void put_thread_name(struct call_export *x, int32_t pid, uint64_t tid, const char *comm,
			    uint32_t stack)
{
	next_event(x);
	out_printf(&x->o,
		   "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%" PRIu64
		   ",\"args\":{\"name\":",
		   (int)pid, tid);
	if (stack)
		out_printf(&x->o, "\"stack %u\"", stack);
	else
		json_put(&x->o, comm);
	out_text(&x->o, "}}");
}

static int chrome_begin(struct call_export *x)
{
	struct chrome *own = x->own;

	own->text = other_text_new(x->v->r);
	if (!own->text)
		return -ENOMEM;
	out_text(&x->o, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"command\":");
	json_put(&x->o, x->v->r->cmdline);
	out_text(&x->o, "},\"traceEvents\":[");
	return 0;
}

static int32_t *place_of(int32_t *named, size_t room, int32_t tid)
{
	size_t i = hash_u64((uint32_t)tid) >> 32 & (room - 1);

	while (named[i] && named[i] != tid)
		i = (i + 1) & (room - 1);
	return &named[i];
}

/*
 * Write the name of a thread when its first record appears. (The kernel's table of names also has
 * tasks without records.)
 */
static void name_thread(struct call_export *x, int32_t tid)
{
	struct chrome *own = x->own;
	int32_t *at;

	if (!tid)
		return;
	if (2 * own->nr_named >= own->room_named) {
		size_t room = own->room_named ? 2 * own->room_named : 256;
		int32_t *more = calloc(room, sizeof(*more));

		if (!more) {
			x->err = fail(ENOMEM, "out of memory");
			return;
		}
		for (size_t i = 0; i < own->room_named; i++)
			if (own->named[i])
				*place_of(more, room, own->named[i]) = own->named[i];
		free(own->named);
		own->named = more;
		own->room_named = room;
	}
	at = place_of(own->named, own->room_named, tid);
	if (*at)
		return;
	*at = tid;
	own->nr_named++;
	put_thread_name(x, process_of(x, tid), (uint64_t)tid, tasks_comm(x->v->r->tasks, tid), 0);
}

static void name_stack(struct call_export *x, const struct call *call, int32_t pid)
{
	struct chrome *own = x->own;
	uint64_t key = (uint64_t)call->process << 32 | call->stack;

	for (unsigned int i = own->nr_stacks; i-- > 0;)
		if (own->stacks[i] == key)
			return;
	if (own->nr_stacks == NAMED_STACKS)
		return;
	own->stacks[own->nr_stacks++] = key;
	put_thread_name(x, pid, call_export_track(x, call), NULL, call->stack);
}

static void put_us(struct out *o, uint64_t ns)
{
	out_printf(o, "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
}

static void chrome_call(struct call_export *x, const struct call *call, const struct call *parent,
			const struct call_function *fn)
{
	int32_t pid = process_of(x, call->pid);
	char buf[CALL_NAME_BYTES];

	(void)parent;
	name_thread(x, call->pid);
	if (call_export_track(x, call) > INT32_MAX)
		name_stack(x, call, pid);
	next_event(x);
	out_text(&x->o, "{\"ph\":\"X\",\"name\":");
	json_put(&x->o, call_export_name(fn, buf));
	out_text(&x->o, ",\"cat\":");
	json_put(&x->o, call_export_object(x->v, fn));
	out_printf(&x->o, ",\"pid\":%d,\"tid\":%" PRIu64 ",\"ts\":", (int)pid,
		   call_export_track(x, call));
	put_us(&x->o, call->start);
	out_text(&x->o, ",\"dur\":");
	put_us(&x->o, call->end - call->start);
	if (call->flags & CALL_UNWOUND)
		out_text(&x->o, ",\"args\":{\"unwound\":true}");
	else if (call->flags & CALL_UNFINISHED)
		out_text(&x->o, ",\"args\":{\"unfinished\":true}");
	out_text(&x->o, "}");
}

static void put_mark(struct call_export *x, const struct record *rec,
		     const struct atrace_mark *mark)
{
	static const char kinds[] = "BESFC", phases[] = "BEbeC";
	struct out *o = &x->o;

	out_printf(o, "{\"ph\":\"%c\",\"cat\":\"atrace\",\"pid\":%d,\"tid\":%d,\"ts\":",
		   phases[strchr(kinds, mark->kind) - kinds], (int)process_of(x, rec->pid),
		   (int)rec->pid);
	put_us(o, rec->ts);
	if (mark->kind != 'E') {
		char *name = strndup(mark->name, mark->name_bytes);

		if (!name)
			x->err = fail(ENOMEM, "out of memory");
		out_text(o, ",\"name\":");
		json_put(o, name ? name : "");
		free(name);
	}
	if (mark->kind == 'S' || mark->kind == 'F') {
		out_text(o, ",\"id\":");
		json_put(o, mark->whole);
	}
	if (mark->kind == 'C')
		out_printf(o, ",\"args\":{\"value\":%lld}", strtoll(mark->number, NULL, 10));
	out_text(o, "}");
}

static void chrome_other(struct call_export *x, const struct record *rec)
{
	struct chrome *own = x->own;
	const char *name, *text, *buffer = call_export_record_buffer(x, rec);
	struct atrace_mark mark;

	x->err = other_text_take(own->text, rec, &name, &text);
	if (!x->err)
		name_thread(x, rec->pid);
	next_event(x);
	if (!x->err && atrace_mark_of(rec, text, &mark)) {
		put_mark(x, rec, &mark);
		return;
	}
	out_text(&x->o, "{\"ph\":\"i\",\"s\":\"t\",\"name\":");
	json_put(&x->o, name);
	out_printf(&x->o, ",\"pid\":%d,\"tid\":%d,\"ts\":", (int)process_of(x, rec->pid),
		   (int)rec->pid);
	put_us(&x->o, rec->ts);
	out_printf(&x->o, ",\"args\":{\"cpu\":%u,\"text\":", rec->cpu);
	json_put(&x->o, text);
	if (*buffer) {
		out_text(&x->o, ",\"buffer\":");
		json_put(&x->o, buffer);
	}
	out_text(&x->o, "}}");
}

static void chrome_end(struct call_export *x)
{
	out_text(&x->o, "\n]}\n");
}

static void chrome_free(struct call_export *x)
{
	other_text_free(((struct chrome *)x->own)->text);
	free(((struct chrome *)x->own)->named);
}

int chrome_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct chrome),
						  .begin = chrome_begin,
						  .call = chrome_call,
						  .other = chrome_other,
						  .end = chrome_end,
						  .free = chrome_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
