/* SPDX-License-Identifier: MIT */
/*
 * See line.h. libtraceevent and its plug-ins make the text of most events, in 1 to 5 us. This file
 * makes the texts that `trace-cmd` prints itself (calls, stacks, raw data). line_fast.c makes the
 * texts of the most common events.
 *
 * libtraceevent trusts a record to match its format. So it gets a copy of the record with zeros
 * behind it, and only if all fields lie inside. Control bytes are printed as \xNN. Tests:
 * tests/cli/test_report.py against trace-cmd's text of recordings of three kernels.
 */
#include "tools/report/line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/control_byte.h"
#include "tools/base/fail.h"
#include "tools/base/load_number.h"
#include "tools/reader/formats.h"
#include "tools/reader/tasks.h"
#include "tools/report/line_impl.h"
#include "tools/text/number.h"

#define ZEROS_BEHIND 512u
#define NAME_COLUMN  20u
#define COMPARED     4u

uint64_t line_number(const struct line *l, const void *at, unsigned int bytes)
{
	return bytes > 8 ? 0 : load_number(at, bytes, l->d->layout.swap);
}

/* A name for libtraceevent, which does not free it. */
static char *resolve(void *priv, unsigned long long *addr, char **module)
{
	const struct symbol *s = line_function_at(priv, *addr);

	if (!s)
		return NULL;
	*addr = s->addr;
	*module = (char *)(uintptr_t)s->module;
	return (char *)(uintptr_t)s->name;
}

static int register_tasks(struct line *l)
{
	for (size_t i = 0; i < tasks_count(l->d->head.tasks); i++) {
		const struct task *t = tasks_at(l->d->head.tasks, i);

		if (tep_register_comm(l->tep, t->comm, t->pid) && errno == ENOMEM)
			return dat_no_memory(l->d);
	}
	return 0;
}

/* Set @flag of the events whose name or system matches one of the patterns. */
static int flag_events(struct line *l, const char *const *patterns, int flag)
{
	struct tep_event *ev;
	regex_t re;

	for (; patterns && *patterns; patterns++) {
		char *anchored;
		int err;

		if (asprintf(&anchored, "^(%s)$", *patterns) < 0)
			return dat_no_memory(l->d);
		err = regcomp(&re, anchored, REG_EXTENDED | REG_ICASE | REG_NOSUB);
		free(anchored);
		if (err)
			return fail(EINVAL, "'%s' is not a regular expression", *patterns);
		for (int i = 0; (ev = tep_get_event(l->tep, i)); i++) {
			if (!regexec(&re, ev->name, 0, NULL, 0) ||
			    !regexec(&re, ev->system, 0, NULL, 0))
				ev->flags |= flag;
		}
		regfree(&re);
	}
	return 0;
}

int line_new(struct dat_reader *d, const struct line_options *opt, struct line **out)
{
	struct line *l = calloc(1, sizeof(*l));
	bool *wanted = malloc(LINE_NR_EVENTS);
	int ret;

	if (!l || !wanted) {
		free(l);
		free(wanted);
		return dat_no_memory(d);
	}
	memset(wanted, true, LINE_NR_EVENTS);
	l->d = d;
	l->opt = opt;
	l->tep = d->head.tep;
	trace_seq_init(&l->seq);
	if (symbols_count(d->head.symbols))
		l->end = symbols_at(d->head.symbols, symbols_count(d->head.symbols) - 1)->addr;
	tep_reset_function_resolver(l->tep);
	ret = tep_set_function_resolver(l->tep, resolve, l) ? dat_no_memory(d) : register_tasks(l);
	if (opt->no_plugins)
		tep_set_flag(l->tep, TEP_DISABLE_PLUGINS);
	if (opt->local_plugins)
		tep_set_flag(l->tep, TEP_DISABLE_SYS_PLUGINS);
	l->plugins = tep_load_plugins(l->tep);
	if (!ret)
		ret = formats_parse(&d->formats, l->tep, wanted);
	free(wanted);
	if (!ret)
		ret = flag_events(l, opt->raw_events, TEP_EVENT_FL_PRINTRAW);
	if (!ret)
		ret = flag_events(l, opt->plain_events, TEP_EVENT_FL_NOHANDLE);
	if (ret) {
		line_free(l);
		return ret;
	}
	*out = l;
	return 0;
}

void line_free(struct line *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; i < LINE_NR_EVENTS; i++) {
		if (!l->events[i])
			continue;
		line_fast_free(l->events[i]->fast);
		free(l->events[i]->name);
		free(l->events[i]);
	}
	if (l->plugins)
		tep_unload_plugins(l->plugins, l->tep);
	trace_seq_destroy(&l->seq);
	free(l->copy);
	free(l);
}

struct tep_handle *line_tep(struct line *l)
{
	return l->tep;
}

static struct dat_field field_of(const struct tep_event *ev, const char *name)
{
	struct tep_format_field *f = tep_find_field((struct tep_event *)(uintptr_t)ev, name);

	if (!f || f->offset < 0 || f->offset > UINT16_MAX || f->size < 0 || f->size > UINT16_MAX)
		return (struct dat_field){0, 0};
	return (struct dat_field){.offset = (uint16_t)f->offset, .bytes = (uint16_t)f->size};
}

/*
 * The least size of a record that has all its fields; an array at the end may be cut (a stack's):
 * libtraceevent finds zeros there.
 */
static void measure(struct line_event *e)
{
	const struct tep_format_field *lists[] = {e->ev->format.common_fields,
						  e->ev->format.fields};

	for (unsigned int i = 0; i < 2; i++) {
		for (const struct tep_format_field *f = lists[i]; f; f = f->next) {
			uint64_t end = (uint64_t)(unsigned int)f->offset + (unsigned int)f->size;

			if (end <= UINT16_MAX && !(f->flags & TEP_FIELD_IS_DYNAMIC) &&
			    end > e->whole_bytes)
				e->whole_bytes = (uint32_t)end;
			if (f->offset < 0 || f->size < 0 || end > UINT16_MAX)
				end = UINT32_MAX; /* no record has it */
			else if (f->flags & TEP_FIELD_IS_DYNAMIC)
				e->dynamic = true;
			else if (f->flags & TEP_FIELD_IS_ARRAY &&
				 (unsigned int)f->size <= ZEROS_BEHIND)
				end = (unsigned int)f->offset;
			if (end > e->min_bytes)
				e->min_bytes = (uint32_t)end;
		}
	}
}

static const char *function_name(void *arg, uint64_t addr)
{
	const struct symbol *s = line_function_at(arg, addr);

	return s ? s->name : NULL;
}

/* Choose trace-cmd's own form for some events of the system ftrace. */
static void choose_body(struct line *l, struct line_event *e)
{
	static const struct {
		const char *name;
		enum body body;
	} own[] = {
		{"funcgraph_entry", BODY_ENTRY},
		{"funcgraph_exit", BODY_EXIT},
		{"kernel_stack", BODY_STACK},
		{"raw_data", BODY_RAW_DATA},
	};
	bool raw = l->opt->raw || e->ev->flags & TEP_EVENT_FL_PRINTRAW;

	e->ends_call = !strcmp(e->ev->name, "funcgraph_exit") && !strcmp(e->ev->system, "ftrace");
	e->func = field_of(e->ev, "func");
	e->depth = field_of(e->ev, "depth");
	e->calltime = field_of(e->ev, "calltime");
	e->rettime = field_of(e->ev, "rettime");
	e->caller = field_of(e->ev, "caller");
	e->id = field_of(e->ev, "id");
	e->buf = field_of(e->ev, "buf");
	if (raw)
		return;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (!l->opt->no_plugins && !l->opt->local_plugins &&
		    !(e->ev->flags & TEP_EVENT_FL_NOHANDLE) && !strcmp(e->ev->system, "ftrace") &&
		    !strcmp(e->ev->name, own[i].name))
			e->body = own[i].body;
	if (e->body == BODY_TEP && !(l->opt->plugin_options && !strcmp(e->ev->name, "function"))) {
		e->fast = line_fast_new(e->ev, function_name, l, l->d->layout.swap);
		if (e->fast)
			e->body = BODY_FAST;
	}
}

struct line_event *line_event_new(struct line *l, uint16_t id)
{
	struct line_event *e = calloc(1, sizeof(*e));
	const char *name;
	int n;

	if (!e)
		return NULL;
	e->ev = tep_find_event(l->tep, id);
	name = e->ev ? e->ev->name : "(NULL)";
	n = asprintf(&e->name, " %s: %*s", name,
		     strlen(name) < NAME_COLUMN ? (int)(NAME_COLUMN - strlen(name)) : 0, "");
	if (n < 0) {
		free(e);
		return NULL;
	}
	e->name_bytes = (unsigned int)n;
	if (e->ev) {
		measure(e);
		choose_body(l, e);
	}
	l->events[id] = e;
	return e;
}

struct tep_record *line_tep_record(struct line *l, const struct record *rec)
{
	size_t need = rec->data_bytes + (size_t)ZEROS_BEHIND;

	if (l->room < need) {
		char *copy = realloc(l->copy, need);

		if (!copy)
			return NULL;
		l->copy = copy;
		l->room = need;
	}
	memcpy(l->copy, rec->data, rec->data_bytes);
	memset(l->copy + rec->data_bytes, 0, ZEROS_BEHIND);
	l->tr = (struct tep_record){.ts = rec->ts,
				    .cpu = rec->cpu,
				    .data = l->copy,
				    .size = (int)rec->data_bytes,
				    .record_size = (int)rec->data_bytes,
				    .ref_count = 1};
	return &l->tr;
}

static bool fits(const struct line *l, const struct line_event *e, const struct record *rec)
{
	if (!e->ev || rec->data_bytes < e->min_bytes)
		return false;
	if (!e->dynamic)
		return true;
	for (const struct tep_format_field *f = e->ev->format.fields; f; f = f->next) {
		uint64_t word, start;

		if (!(f->flags & TEP_FIELD_IS_DYNAMIC))
			continue;
		word = line_number(l, (const char *)rec->data + f->offset,
				   f->size < 8 ? (unsigned int)f->size : 8);
		start = word & 0xffff;
		if (f->flags & TEP_FIELD_IS_RELATIVE)
			start += (uint64_t)(unsigned int)f->offset + (unsigned int)f->size;
		if (start + (word >> 16 & 0xffff) > rec->data_bytes)
			return false;
	}
	return true;
}

bool line_begins_call(struct line *l, const struct record *rec)
{
	const struct line_event *e = line_event_of(l, rec);

	return e && e->body == BODY_ENTRY;
}

bool line_fits(struct line *l, const struct record *rec)
{
	const struct line_event *e = line_event_of(l, rec);

	return e && fits(l, e, rec);
}

static bool is_stack(const struct line_event *e)
{
	return e->ev && !strcmp(e->ev->system, "ftrace") &&
	       (!strcmp(e->ev->name, "kernel_stack") || !strcmp(e->ev->name, "user_stack"));
}

bool line_is_stack(struct line *l, const struct record *rec)
{
	const struct line_event *e = line_event_of(l, rec);

	return e && is_stack(e);
}

/* The name and pid of a thread; plug-ins learn some names while records are printed. */
static const struct comm *comm_of(struct line *l, int32_t pid)
{
	struct comm *c = &l->comms[((uint32_t)pid * 2654435761u) >> 22 & (LINE_COMM_SLOTS - 1)];
	int width = l->opt->latency ? 8 : 16;
	char *p = c->text, *pid_at;
	const char *name;
	size_t n;

	if (c->known && c->pid == pid)
		return c;
	name = tep_data_comm_from_pid(l->tep, pid);
	n = strnlen(name, (size_t)width);
	p = line_put_blanks(p, width - (int)n);
	memcpy(p, name, n);
	control_clean(p, n, '?');
	p += n;
	*p++ = '-';
	pid_at = p;
	if (pid < 0)
		*p++ = '-';
	p = number_put(p, pid < 0 ? -(uint64_t)(int64_t)pid : (uint64_t)pid);
	p = line_put_blanks(p, 5 - (int)(p - pid_at));
	*p++ = ' ';
	c->bytes = (uint8_t)(p - c->text);
	c->pid = pid;
	c->known = strcmp(name, "<...>") != 0;
	return c;
}

static char *put_seconds(struct line *l, char *p, uint64_t seconds)
{
	if (seconds != l->seconds || !l->second_bytes) {
		char *to = l->second_text;

		*to++ = ' ';
		to = number_right(to, seconds, 5);
		*to++ = '.';
		l->seconds = seconds;
		l->second_bytes = (unsigned int)(to - l->second_text);
	}
	memcpy(p, l->second_text, sizeof(l->second_text));
	return p + l->second_bytes;
}

void line_head(struct line *l, struct out *o, const struct record *rec, uint64_t ts, bool in_ns)
{
	const struct comm *c = comm_of(l, rec->pid);
	char *p = out_room(o, 160);

	memcpy(p, c->text, sizeof(c->text));
	p += c->bytes;
	if (l->opt->latency) {
		p = number_right(p, rec->cpu, 3);
		out_done(o, p);
		if (l->opt->raw) {
			out_printf(o, "-0x%x", rec->flags);
		} else if (line_fits(l, rec)) {
			trace_seq_reset(&l->seq);
			tep_print_event(l->tep, &l->seq, line_tep_record(l, rec), "%s",
					TEP_PRINT_LATENCY);
			out_write(o, l->seq.buffer, l->seq.len);
		}
		p = out_room(o, 100);
	} else {
		*p++ = '[';
		p = rec->cpu < 1000 ? number_zeros(p, rec->cpu, 3) : number_put(p, rec->cpu);
		*p++ = ']';
	}
	if (!in_ns) {
		p = number_right(p, ts, 12);
	} else if (l->opt->nanoseconds) {
		p = put_seconds(l, p, ts / 1000000000);
		p = number_zeros(p, ts % 1000000000, 9);
	} else {
		uint64_t us = (ts + 500) / 1000;

		p = put_seconds(l, p, us / 1000000);
		p = number_six(p, (uint32_t)(us % 1000000));
	}
	*p++ = ':';
	out_done(o, p);
}

static void put_stack(struct line *l, struct out *o, const struct line_event *e,
		      const struct record *rec)
{
	unsigned int bytes = l->d->layout.head_bytes - 8u;
	uint64_t none = bytes == 8 ? UINT64_MAX : UINT32_MAX;

	out_text(o, "<stack trace >");
	for (uint32_t at = e->caller.offset; at + bytes <= rec->data_bytes; at += bytes) {
		uint64_t ip = line_number(l, (const char *)rec->data + at, bytes);
		const struct symbol *s;

		if (ip == none || (int)ip == -1)
			break;
		s = line_function_at(l, ip);
		out_text(o, "\n=> ");
		if (s)
			out_printf(o, "%s (%" PRIx64 ")", s->name, ip);
		else
			out_printf(o, "%" PRIx64, ip);
	}
}

static void put_raw_data(struct line *l, struct out *o, const struct line_event *e,
			 const struct record *rec)
{
	out_printf(o, "# %x", (unsigned int)line_field_value(l, rec, e->id));
	for (uint32_t at = e->buf.offset; at < rec->data_bytes; at++)
		out_printf(o, " %02x", ((const unsigned char *)rec->data)[at]);
}

/* Let libtraceevent make its text in l->seq. Return: false: memory is short. */
static bool make_tep(struct line *l, const struct record *rec)
{
	struct tep_record *tr = line_tep_record(l, rec);

	trace_seq_reset(&l->seq);
	if (tr)
		tep_print_event(l->tep, &l->seq, tr, "%s",
				l->opt->raw ? TEP_PRINT_INFO_RAW : TEP_PRINT_INFO);
	return tr != NULL;
}

static void put_seq(struct line *l, struct out *o, const struct line_event *e)
{
	size_t n = l->seq.len;

	if (n && l->seq.buffer[n - 1] == '\n')
		n--;
	/* a stack has a line a frame */
	if (o->terminal && !is_stack(e))
		out_string(o, l->seq.buffer, n);
	else
		out_safe_lines(o, l->seq.buffer, n);
}

static void put_tep(struct line *l, struct out *o, const struct line_event *e,
		    const struct record *rec)
{
	if (make_tep(l, rec))
		put_seq(l, o, e);
	else
		out_text(o, "out of memory");
}

/* The first records of an event: check that the text of line_fast.h equals libtraceevent's. */
static void put_compared(struct line *l, struct out *o, struct line_event *e,
			 const struct record *rec)
{
	size_t used, n;

	out_room(o, OUT_BYTES / 2); /* both in one piece */
	used = o->used;
	if (!line_fast_put(e->fast, o, rec)) {
		put_tep(l, o, e, rec);
		return;
	}
	n = o->used - used;
	/* a longer text would not be in one piece with the other one */
	if (!make_tep(l, rec) || CONTROL_ESCAPE_BYTES * (size_t)l->seq.len > OUT_BYTES - o->used) {
		o->used = used;
		put_tep(l, o, e, rec);
		return;
	}
	put_seq(l, o, e);
	e->compared++;
	if (o->used - used == 2 * n && !memcmp(o->buf + used, o->buf + used + n, n)) {
		o->used = used + n;
		return;
	}
	memmove(o->buf + used, o->buf + used + n, o->used - used - n);
	o->used -= n;
	e->body = BODY_TEP;
}

bool line_body(struct line *l, struct out *o, const struct record *rec, const struct record *next)
{
	struct line_event *e = line_event_of(l, rec);

	if (!e) {
		out_text(o, " out of memory");
		return false;
	}
	out_write(o, e->name, e->name_bytes);
	if (!e->ev) {
		out_printf(o, "ug! no event found for type %d", rec->event);
		return false;
	}
	if (!fits(l, e, rec)) {
		out_text(o, "[CORRUPTED]");
		return false;
	}
	switch (e->body) {
	case BODY_ENTRY:
		return line_graph_entry(l, o, e, rec, next);
	case BODY_EXIT:
		line_graph_exit(l, o, e, rec);
		break;
	case BODY_STACK:
		put_stack(l, o, e, rec);
		break;
	case BODY_RAW_DATA:
		put_raw_data(l, o, e, rec);
		break;
	case BODY_FAST:
		if (rec->data_bytes < e->whole_bytes)
			put_tep(l, o, e, rec);
		else if (e->compared < COMPARED)
			put_compared(l, o, e, rec);
		else if (!line_fast_put(e->fast, o, rec))
			put_tep(l, o, e, rec);
		break;
	case BODY_TEP:
		put_tep(l, o, e, rec);
		break;
	}
	return false;
}
