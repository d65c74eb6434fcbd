/* SPDX-License-Identifier: MIT */
/*
 * See replay.h. Lines are in the order of time, so the line of an entry must wait until it is known
 * whether a call follows beneath it (`f() {`) or not (`f();`, with its duration). Lines wait in a
 * ring, and are printed up to the first that is not decided. If the ring is full, the first one is
 * printed as `f() {`, with -t too, since the call may be long.
 *
 * A call's line is known by its number, in the lower half of struct call's data. Costs 40 to 60 ns
 * a line. Tests: tests/cli/test_views.py.
 */
#include "tools/text/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/reader/joined.h"
#include "tools/text/duration.h"
#include "tools/text/other_text.h"
#include "tools/text/value_text.h"

#define RING_LINES   (1u << 16)
#define NAME_MAX_PUT 16384u
#define COLUMN_WIDTH 8u
#define MAX_COLUMNS  16u
#define MAX_INDENT   2000u
#define NR_INNERMOST 4096u
#define MAX_EVENT    4000u /* bytes of its text that are printed */
#define ROOM_BEHIND  8192u

enum line_kind {
	LINE_WAITS,   /* an entry of which nothing more is known */
	LINE_DROPPED, /* it was too short */
	LINE_OPEN,
	LINE_LEAF,
	LINE_CLOSE,
	LINE_EVENT,
};

struct line {
	uint32_t function;
	uint32_t level;
	int32_t tid;
	uint8_t kind;
	uint8_t flags; /* enum call_flag; of a LINE_CLOSE without a duration REPLAY_UNMATCHED */
	uint64_t start, end;
	union {
		uint64_t parent; /* number + 1 of the line of the call around it, 0 none */
		char *text;	 /* LINE_EVENT: owned */
	};
};

/* The innermost shown call of a thread. */
struct innermost {
	int32_t tid;
	uint32_t level; /* of what is beneath it */
	uint32_t line;	/* as in struct call's data */
	bool open, known;
};

#define REPLAY_UNMATCHED 0x80

/* Flags of a line. */
struct values {
	uint64_t args[RECORD_NR_ARGS];
	uint64_t retval;
	bool has_args, has_retval;
};

struct replay {
	struct view *v;
	const struct replay_options *opt;
	struct out out;
	struct line *ring;
	struct values *values; /* one a line; NULL: the trace has none */
	uint64_t head, tail;   /* numbers of lines */
	uint64_t nr_calls;
	struct other_text *texts;
	struct innermost *innermost; /* by the low bits of the thread's id */
	int32_t columns[MAX_COLUMNS];
	unsigned int nr_columns;
	bool has_head; /* the line above the first one is out */
	int err;
};

static unsigned int column_of(struct replay *p, int32_t tid)
{
	unsigned int i;

	for (i = 0; i < p->nr_columns; i++)
		if (p->columns[i] == tid)
			return i;
	if (p->nr_columns < MAX_COLUMNS)
		p->columns[p->nr_columns++] = tid;
	return i;
}

static char *put_tid(char *to, int32_t tid)
{
	uint32_t v = tid < 0 ? 0 : (uint32_t)tid;
	char text[12];
	unsigned int n = 0;

	do {
		text[n++] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	*to++ = ' ';
	*to++ = '[';
	for (unsigned int pad = n; pad < 7; pad++)
		*to++ = ' ';
	while (n)
		*to++ = text[--n];
	*to++ = ']';
	return to;
}

static char *put_string(char *to, const char *text, size_t n)
{
	memcpy(to, text, n);
	return to + n;
}

#define PUT(to, literal) put_string(to, literal, sizeof(literal) - 1)

static char *put_name(char *to, const struct call_function *fn)
{
	size_t n;

	if (!fn->name)
		return to + sprintf(to, "0x%08" PRIx64, fn->ip);
	n = strlen(fn->name);
	return put_string(to, fn->name, n < NAME_MAX_PUT ? n : NAME_MAX_PUT);
}

static struct values *values_at(struct replay *p, uint64_t number)
{
	return &p->values[number & (RING_LINES - 1)];
}

/* Behind a function's name its arguments, or nothing. */
static char *put_args(struct replay *p, char *to, uint64_t ip, const struct values *v)
{
	if (!v || !v->has_args)
		return PUT(to, "()");
	out_done(&p->out, to);
	value_text_args(p->v->values, &p->out, ip, v->args);
	return out_room(&p->out, ROOM_BEHIND);
}

static char *put_retval(struct replay *p, char *to, uint64_t ip, const struct values *v)
{
	to = PUT(to, "= ");
	out_done(&p->out, to);
	value_text_result(p->v->values, &p->out, ip, v->retval, false);
	return out_room(&p->out, ROOM_BEHIND);
}

static uint32_t indent_of(struct replay *p, const struct line *l)
{
	uint32_t indent = 2 * l->level;

	if (p->opt->column)
		indent += COLUMN_WIDTH * column_of(p, l->tid);
	return indent < MAX_INDENT ? indent : MAX_INDENT;
}

static void print_head(struct replay *p)
{
	if (!p->has_head)
		out_text(&p->out, "#DURATION   TID         FUNCTION\n");
	p->has_head = true;
}

static void print_event(struct replay *p, struct line *l)
{
	uint32_t indent = indent_of(p, l);
	char *to;

	print_head(p);
	to = out_room(&p->out, MAX_INDENT + ROOM_BEHIND);
	memset(to, ' ', DURATION_WIDTH);
	to = put_tid(to + DURATION_WIDTH, l->tid);
	to = PUT(to, " | ");
	memset(to, ' ', indent);
	out_done(&p->out, to + indent);
	out_text(&p->out, "/* ");
	out_safe(&p->out, l->text, strlen(l->text));
	out_text(&p->out, " */\n");
	free(l->text);
	l->text = NULL;
}

static void print_line(struct replay *p, uint64_t number)
{
	const struct line *l = &p->ring[number & (RING_LINES - 1)];
	const struct call_function *fn = call_filter_function(p->v->filter, l->function);
	const struct values *v = p->values ? values_at(p, number) : NULL;
	bool retval = v && v->has_retval && !value_text_is_void(p->v->values, fn->ip);
	uint32_t indent = indent_of(p, l);
	const char *place = NULL;
	char *to;

	if (l->kind == LINE_DROPPED)
		return;
	print_head(p);
	if (p->v->lines && l->kind != LINE_CLOSE)
		place = view_place(p->v, fn->ip);
	to = out_room(&p->out, NAME_MAX_PUT + MAX_INDENT + ROOM_BEHIND);
	if (l->kind == LINE_OPEN || l->flags & (REPLAY_UNMATCHED | CALL_UNFINISHED))
		memset(to, ' ', DURATION_WIDTH);
	else
		duration_put(to, l->end - l->start);
	to = put_tid(to + DURATION_WIDTH, l->tid);
	to = PUT(to, " | ");
	memset(to, ' ', indent);
	to += indent;
	if (l->kind == LINE_CLOSE)
		to = PUT(to, "} /* ");
	to = put_name(to, fn);
	if (l->kind == LINE_CLOSE) {
		if (l->flags & CALL_UNWOUND)
			to = PUT(to, ", unwound");
		if (retval)
			to = put_retval(p, PUT(to, " "), fn->ip, v);
		to = PUT(to, " */");
	} else if (l->kind == LINE_OPEN || l->flags & CALL_UNFINISHED) {
		to = put_args(p, to, fn->ip, v);
		to = PUT(to, " {");
	} else {
		to = put_args(p, to, fn->ip, v);
		to = PUT(to, ";");
		if (l->flags & CALL_UNWOUND)
			to = PUT(to, " /* unwound */");
		if (retval) {
			to = put_retval(p, PUT(to, " /* "), fn->ip, v);
			to = PUT(to, " */");
		}
	}
	out_done(&p->out, to);
	if (place) { /* of any length */
		out_text(&p->out, " /* ");
		out_text(&p->out, place);
		out_text(&p->out, " */");
	}
	to = out_room(&p->out, 1);
	*to++ = '\n';
	out_done(&p->out, to);
}

static struct line *line_at(struct replay *p, uint64_t number)
{
	return &p->ring[number & (RING_LINES - 1)];
}

/* Print the lines that are complete. */
static void flush(struct replay *p)
{
	for (; p->head < p->tail && line_at(p, p->head)->kind != LINE_WAITS; p->head++) {
		if (line_at(p, p->head)->kind == LINE_EVENT)
			print_event(p, line_at(p, p->head));
		else
			print_line(p, p->head);
	}
	if (p->out.err)
		p->err = p->out.err;
}

static struct line *add_line(struct replay *p)
{
	if (p->tail - p->head == RING_LINES) {
		flush(p);
		if (p->tail - p->head == RING_LINES) {
			line_at(p, p->head)->kind = LINE_OPEN;
			flush(p);
		}
	} else if (p->tail - p->head >= 4096 && !(p->tail & 1023)) {
		flush(p);
	}
	if (p->values)
		values_at(p, p->tail)->has_args = values_at(p, p->tail)->has_retval = false;
	return line_at(p, p->tail++);
}

static void take_args(struct replay *p, uint64_t number, const struct record *rec)
{
	struct values *v = p->values ? values_at(p, number) : NULL;

	if (!v || !rec || !(rec->graph & RECORD_GRAPH_ARGS))
		return;
	memcpy(v->args, rec->args, sizeof(v->args));
	v->has_args = true;
}

/* A call that ended in a tail call has the same exit record as the callee, and the same result. */
static void take_retval(struct replay *p, uint64_t number, const struct record *rec)
{
	struct values *v = p->values ? values_at(p, number) : NULL;

	if (!v || !rec || !(rec->graph & RECORD_GRAPH_RETVAL))
		return;
	v->retval = rec->retval;
	v->has_retval = true;
}

/* The call's line, while it waits; NULL when it has been decided. */
static struct line *waiting_line(struct replay *p, const struct call *call)
{
	uint64_t number = p->head + (uint32_t)((uint32_t)call->data - (uint32_t)p->head);
	struct line *l = line_at(p, number);

	return number < p->tail && l->kind == LINE_WAITS ? l : NULL;
}

static void open_around(struct replay *p, struct line *l)
{
	while (l->kind == LINE_WAITS) {
		l->kind = LINE_OPEN;
		if (!l->parent || l->parent - 1 < p->head)
			break;
		l = line_at(p, l->parent - 1);
	}
}

static struct innermost *innermost_of(struct replay *p, int32_t tid)
{
	return &p->innermost[(uint32_t)tid % NR_INNERMOST];
}

/* @call is the innermost one of its thread; NULL: none is. */
static void set_innermost(struct replay *p, int32_t tid, const struct call *call)
{
	bool shown = call && call_filter_shown(call);

	*innermost_of(p, tid) = (struct innermost){.tid = tid,
						   .level = shown ? call_filter_level(call) + 1 : 0,
						   .line = shown ? (uint32_t)call->data : 0,
						   .open = shown,
						   .known = true};
}

static bool has_filters(const struct view *v)
{
	return v->wish.nr_under || v->wish.nr_not_under || v->wish.max_depth || v->wish.min_ns;
}

/*
 * An event of a thread whose calls are shown. With filters of calls: if it is below a call that is
 * shown.
 */
static int replay_other(void *arg, const struct record *rec)
{
	struct replay *p = arg;
	const struct innermost *in = innermost_of(p, rec->pid);
	const char *name, *text, *buffer = reader_buffer_name(p->v->r, record_buffer(rec));
	struct line *l, *around;
	char *whole;

	if ((rec->kind != RECORD_EVENT && rec->kind != RECORD_PRINT) || !in->known ||
	    in->tid != rec->pid || p->v->wish.min_ns || (!in->open && has_filters(p->v)) ||
	    !call_filter_record(p->v->filter, rec))
		return 0;
	if (other_text_take(p->texts, rec, &name, &text))
		return -ENOMEM;
	if (asprintf(&whole, "%s%s%s%s%.*s", buffer, *buffer ? ": " : "", name, *text ? ": " : "",
		     (int)MAX_EVENT, text) < 0)
		return fail(ENOMEM, "out of memory");
	if (in->open) {
		uint64_t number = p->head + (uint32_t)(in->line - (uint32_t)p->head);

		around = line_at(p, number);
		if (number < p->tail)
			open_around(p, around);
	}
	l = add_line(p);
	*l = (struct line){.kind = LINE_EVENT, .tid = rec->pid, .level = in->level, .text = whole};
	return 0;
}

static void replay_enter(void *arg, struct call *call, struct call *parent,
			 const struct record *rec)
{
	struct replay *p = arg;
	struct line *l, *around = NULL;
	uint32_t function;
	int shown = call_filter_enter(p->v->filter, call, parent, &function);

	if (shown < 0)
		p->err = shown;
	if (shown <= 0) {
		set_innermost(p, call->pid, call); /* the events in it are not shown either */
		return;
	}
	if (parent && call_filter_shown(parent))
		around = waiting_line(p, parent);
	if (around && !p->v->wish.min_ns) {
		around->kind = LINE_OPEN;
		around = NULL;
	}
	l = add_line(p);
	*l = (struct line){.function = function,
			   .level = call_filter_level(call),
			   .tid = call->pid,
			   .kind = LINE_WAITS,
			   .flags = (uint8_t)call->flags,
			   .start = call->start};
	if (around)
		l->parent = p->head + (uint32_t)((uint32_t)parent->data - (uint32_t)p->head) + 1;
	if (rec && rec->kind != RECORD_EXIT)
		take_args(p, p->tail - 1, rec);
	call->data |= (uint32_t)(p->tail - 1);
	set_innermost(p, call->pid, call);
}

static void replay_leave(void *arg, struct call *call, struct call *parent,
			 const struct record *rec)
{
	struct replay *p = arg;
	bool returned = !(call->flags & (CALL_NO_EXIT | CALL_UNWOUND | CALL_UNFINISHED));
	struct line *l, *close;

	set_innermost(p, call->pid, parent);
	if (!call_filter_shown(call))
		return;
	l = waiting_line(p, call);
	if (!call_filter_leave(p->v->filter, call)) {
		if (!l)
			goto close; /* it was opened because the ring was full */
		l->kind = LINE_DROPPED;
		while (p->tail > p->head && line_at(p, p->tail - 1)->kind == LINE_DROPPED)
			p->tail--;
		return;
	}
	p->nr_calls++;
	if (l) {
		if (l->parent && l->parent - 1 >= p->head)
			open_around(p, line_at(p, l->parent - 1));
		l->kind = LINE_LEAF;
		l->end = call->end;
		l->flags = (uint8_t)call->flags;
		if (returned)
			take_retval(p,
				    (uint64_t)p->head +
					    (uint32_t)((uint32_t)call->data - (uint32_t)p->head),
				    rec);
		return;
	}
	if (call->flags & CALL_UNFINISHED)
		return;
close:
	close = add_line(p);
	*close = (struct line){.level = call_filter_level(call),
			       .tid = call->pid,
			       .kind = LINE_CLOSE,
			       .flags = (uint8_t)call->flags,
			       .start = call->start,
			       .end = call->end};
	if (returned)
		take_retval(p, p->tail - 1, rec);
	if (call_filter_number(p->v->filter, call->ip, &close->function))
		p->err = -ENOMEM;
}

static void replay_unmatched(void *arg, uint32_t depth, uint32_t stack, const struct record *rec)
{
	struct replay *p = arg;
	struct line *l;

	if (!call_filter_unmatched(p->v->filter, rec) ||
	    (p->v->wish.max_depth && depth >= p->v->wish.max_depth))
		return;
	l = add_line(p);
	*l = (struct line){
		.level = depth, .tid = rec->pid, .kind = LINE_CLOSE, .flags = REPLAY_UNMATCHED};
	take_retval(p, p->tail - 1, rec);
	if (call_filter_number(p->v->filter, rec->ip, &l->function))
		p->err = -ENOMEM;
}

static const struct calls_ops replay_ops = {
	.enter = replay_enter, .leave = replay_leave, .unmatched = replay_unmatched};

int replay_print(struct view *v, const struct replay_options *opt)
{
	struct replay p = {.v = v, .opt = opt};
	int ret = 0, err = 0;

	fflush(stdout);
	p.ring = calloc(RING_LINES, sizeof(*p.ring));
	if (v->r->values)
		p.values = calloc(RING_LINES, sizeof(*p.values));
	p.innermost = calloc(NR_INNERMOST, sizeof(*p.innermost));
	p.texts = other_text_new(v->r);
	if (!p.ring || (v->r->values && !p.values) || !p.innermost || !p.texts ||
	    out_init(&p.out, STDOUT_FILENO)) {
		ret = fail(ENOMEM, "out of memory");
		goto free;
	}
	v->other = replay_other;
	v->other_arg = &p;
	out_beside(&p.out);
	ret = view_run(v, &replay_ops, &p, &p.err);
	flush(&p);
	for (; p.head < p.tail; p.head++)
		if (line_at(&p, p.head)->kind == LINE_EVENT)
			free(line_at(&p, p.head)->text);
	err = out_end(&p.out);
free:
	free(p.values);
	free(p.ring);
	free(p.innermost);
	other_text_free(p.texts);
	if (ret == -ENOMEM)
		return ret;
	/* a closed pipe is no error */
	if (err == -EPIPE)
		return 0;
	if (err)
		return fail_errno(-err, "cannot write the output");
	if (!ret)
		view_notes(v, p.nr_calls);
	return ret;
}
