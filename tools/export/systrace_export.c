/* SPDX-License-Identifier: MIT */
/*
 * The text of systrace and atrace, for Perfetto's viewer and catapult's trace2html: ftrace's lines,
 * with a mark B|PID|NAME at the begin of a call and E|PID at its end. Seconds have nine decimals. A
 * stack that is not its thread's own has a track, like a thread. In buffers other than the first,
 * lines end with ` buffer=NAME`, and the name of a call ends with ` [NAME]`.
 * Tests: tests/cli/test_export_texts.py.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/export/call_export.h"
#include "tools/text/other_text.h"
#include "tools/reader/tasks.h"
#include "tools/text/trace_text.h"

struct systrace {
	struct other_text *text;
	unsigned int cpu; /* of the last record, for calls that are closed at the end */
};

/* Write a line up to the colon after its stamp. */
static void begin_line(struct call_export *x, uint64_t row, int32_t tid, uint64_t ts,
		       const char flags[5])
{
	const struct tasks *tasks = x->v->r->tasks;
	struct systrace *own = x->own;
	int32_t pid = tasks_tgid(tasks, tid);

	if (x->rec)
		own->cpu = x->rec->cpu;
	out_printf(&x->o, "%16s-%-7" PRIu64 " (%7d) [%03u] %.5s %" PRIu64 ".%09u: ",
		   tasks_comm(tasks, tid), row, (int)(pid ? pid : tid), own->cpu, flags,
		   ts / 1000000000, (unsigned int)(ts % 1000000000));
}

/* Replace bars, which separate the parts of a mark, and control characters. */
static void put_name(struct out *o, const char *name)
{
	for (; *name; name++) {
		if (*name == '|')
			out_text(o, "\302\246");
		else
			out_write(o, (unsigned char)*name < ' ' ? " " : name, 1);
	}
}

static void put_mark(struct call_export *x, const struct call *call, char mark, uint64_t ts)
{
	int32_t pid = tasks_tgid(x->v->r->tasks, call->pid);

	begin_line(x, call_export_track(x, call), call->pid, ts, ".....");
	out_printf(&x->o, "tracing_mark_write: %c|%d", mark, (int)(pid ? pid : call->pid));
}

static void systrace_enter(struct call_export *x, const struct call *call,
			   const struct call_function *fn)
{
	const char *buffer = call_export_buffer(x, call);
	char buf[CALL_NAME_BYTES];

	put_mark(x, call, 'B', call->start);
	out_text(&x->o, "|");
	put_name(&x->o, call_export_name(fn, buf));
	if (*buffer) {
		out_text(&x->o, " [");
		put_name(&x->o, buffer);
		out_text(&x->o, "]");
	}
	out_text(&x->o, "\n");
}

static void systrace_call(struct call_export *x, const struct call *call, const struct call *parent,
			  const struct call_function *fn)
{
	(void)parent;
	(void)fn;
	put_mark(x, call, 'E', call->end);
	out_text(&x->o, "\n");
}

static void systrace_other(struct call_export *x, const struct record *rec)
{
	struct systrace *own = x->own;
	const char *name, *text, *colon, *buffer = call_export_record_buffer(x, rec);
	char flags[5];

	x->err = other_text_take(own->text, rec, &name, &text);
	trace_text_flags(flags, rec->flags, rec->preempt_count);
	begin_line(x, (uint64_t)rec->pid, rec->pid, rec->ts, flags);
	colon = strchr(name, ':');
	if (rec->kind == RECORD_PRINT)
		out_text(&x->o, "tracing_mark_write");
	else
		out_text(&x->o, rec->kind == RECORD_EVENT && colon ? colon + 1 : name);
	if (rec->kind != RECORD_FUNCTION)
		out_text(&x->o, ": ");
	else if (*text)
		out_text(&x->o, " <-");
	for (; *text; text++)
		out_write(&x->o, *text == '\n' ? " " : text, 1);
	if (*buffer) {
		out_text(&x->o, " buffer=");
		put_name(&x->o, buffer);
	}
	out_text(&x->o, "\n");
}

static int systrace_begin(struct call_export *x)
{
	struct systrace *own = x->own;

	if (x->v->wish.min_ns)
		return fail(EINVAL, "this format has each call's beginning before its length is "
				    "known: --time-filter goes with chrome, csv and jsonl");
	own->text = other_text_new(x->v->r);
	if (!own->text)
		return -ENOMEM;
	out_text(&x->o, "# tracer: nop\n#\n");
	return 0;
}

static void systrace_free(struct call_export *x)
{
	other_text_free(((struct systrace *)x->own)->text);
}

int systrace_export(const char *path, struct reader *r, const struct export_options *opt)
{
	static const struct call_format format = {.own_bytes = sizeof(struct systrace),
						  .begin = systrace_begin,
						  .enter = systrace_enter,
						  .call = systrace_call,
						  .other = systrace_other,
						  .free = systrace_free};

	(void)r;
	return call_export_each(path, opt, &format);
}
