/* SPDX-License-Identifier: MIT */
/*
 * See trace_forms.h. Texts are the kernel's (6.12). Records of ours that are no events of a system
 * have the kernel's numbers: a call is type 1 (function), a print type 5. The kernel's
 * latency-format counts from when the buffer was emptied, this from the first line. Tests:
 * tests/unit/test_trace_forms.c.
 */
#include "tools/text/trace_forms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/reader/tasks.h"
#include "tools/text/event_text.h"
#include "tools/text/trace_text.h"

#define TYPE_FUNCTION 1u
#define TYPE_PRINT    5u

enum trace_form trace_form_of(const struct reader *r)
{
	return reader_option(r, AREA_OPTION_BIN)   ? TRACE_FORM_BIN
	       : reader_option(r, AREA_OPTION_HEX) ? TRACE_FORM_HEX
	       : reader_option(r, AREA_OPTION_RAW) ? TRACE_FORM_RAW
						   : TRACE_FORM_DEFAULT;
}

static unsigned int type_of(const struct record *rec)
{
	return rec->kind == RECORD_FUNCTION ? TYPE_FUNCTION
	       : rec->kind == RECORD_PRINT  ? (rec->event ? rec->event : TYPE_PRINT)
	       : rec->kind == RECORD_EVENT  ? rec->event
					    : (unsigned int)rec->kind;
}

static void put_raw(struct out *o, const struct record *rec, bool context)
{
	if (context)
		out_printf(o, "%d %d %" PRIu64 " ", rec->pid, (int)rec->cpu, rec->ts);
	if (rec->kind == RECORD_FUNCTION) {
		out_printf(o, "%" PRIx64 " %" PRIx64 "\n", rec->ip, rec->parent_ip);
	} else if (rec->kind == RECORD_PRINT) {
		/* as in the kernel, a record that had binary arguments is marked with '#' */
		out_printf(o, type_of(rec) != TYPE_PRINT ? ": %" PRIx64 " : " : "# %" PRIx64 " ",
			   rec->ip);
		out_string(o, rec->data, rec->data_bytes);
		out_text(o, "\n");
	} else {
		out_printf(o, "type: %u\n", type_of(rec));
	}
}

/* Behind each line an empty one, as in the kernel. */
static void put_hex(struct out *o, const struct record *rec, bool context)
{
	if (context)
		out_printf(o, "%08x %08x %016" PRIx64 " ", (unsigned int)rec->pid,
			   (unsigned int)rec->cpu, rec->ts);
	if (rec->kind == RECORD_FUNCTION)
		out_printf(o, "%016" PRIx64 " %016" PRIx64 " \n", rec->ip, rec->parent_ip);
	else
		out_printf(o, "type: %u\n\n", type_of(rec));
}

static void put_bin(struct out *o, const struct record *rec, bool context)
{
	const int32_t pid = rec->pid, cpu = (int32_t)rec->cpu;

	if (context) {
		out_write(o, (const char *)&pid, sizeof(pid));
		out_write(o, (const char *)&cpu, sizeof(cpu));
		out_write(o, (const char *)&rec->ts, sizeof(rec->ts));
	}
	if (rec->kind == RECORD_FUNCTION) {
		out_write(o, (const char *)&rec->ip, sizeof(rec->ip));
		out_write(o, (const char *)&rec->parent_ip, sizeof(rec->parent_ip));
	} else {
		out_printf(o, "type: %u\n", type_of(rec));
	}
}

void trace_form_put(const struct reader *r, struct out *o, const struct record *rec,
		    enum trace_form form)
{
	bool context = reader_option(r, AREA_OPTION_CONTEXT_INFO);

	if (form == TRACE_FORM_BIN)
		put_bin(o, rec, context);
	else if (form == TRACE_FORM_HEX)
		put_hex(o, rec, context);
	else
		put_raw(o, rec, context);
}

/* The bytes at @at of a record, as far as it has them. */
static void put_array(struct out *o, const struct record *rec, uint32_t at, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes && at < rec->data_bytes && i < rec->data_bytes - at; i++)
		out_printf(o, "%s%02x", i ? "," : "{", ((const uint8_t *)rec->data)[at + i]);
	out_text(o, "}");
}

static void put_string(struct out *o, const struct record *rec, uint32_t at, uint32_t bytes)
{
	const char *text = rec->data;

	if (at > rec->data_bytes)
		return;
	if (bytes > rec->data_bytes - at)
		bytes = rec->data_bytes - at;
	out_string(o, text + at, strnlen(text + at, bytes));
}

static void put_field(struct out *o, const struct record *rec, const struct tep_format_field *f)
{
	uint32_t at = (uint32_t)f->offset, bytes = (uint32_t)f->size;
	uint64_t v = 0;

	out_printf(o, " %s=", f->name);
	if (f->offset < 0 || f->size < 0 || at > rec->data_bytes || bytes > rec->data_bytes - at) {
		out_text(o, "<OVERFLOW>");
		return;
	}
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		memcpy(&v, (const char *)rec->data + at, bytes < 4 ? bytes : 4);
		at = (v & 0xffff) + (f->flags & TEP_FIELD_IS_RELATIVE ? at + bytes : 0);
		bytes = v >> 16 & 0xffff;
	}
	if (f->flags & TEP_FIELD_IS_STRING) {
		put_string(o, rec, at, bytes);
	} else if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) {
		put_array(o, rec, at, bytes);
	} else if (bytes <= 8) {
		int shift = bytes && bytes < 8 ? 64 - 8 * (int)bytes : 0;

		memcpy(&v, (const char *)rec->data + at, bytes);
		if (f->flags & TEP_FIELD_IS_SIGNED)
			out_printf(o, "0x%" PRIx64 " (%" PRId64 ")", v,
				   (int64_t)(v << shift) >> shift);
		else
			out_printf(o, "0x%" PRIx64 " (%" PRIu64 ")", v, v);
	}
}

void trace_fields_put(const struct reader *r, struct out *o, const struct record *rec)
{
	const struct tep_event *ev =
		rec->kind == RECORD_EVENT && r->tep ? tep_find_event(r->tep, rec->event) : NULL;
	const struct tep_format_field *f;

	if (!ev || !strcmp(ev->system, "ftrace")) {
		out_printf(o, "UNKNOWN TYPE %u\n", type_of(rec));
		return;
	}
	out_printf(o, "%s:", ev->name);
	for (f = ev->format.fields; f; f = f->next)
		put_field(o, rec, f);
	out_text(o, "\n");
}

struct trace_latency {
	const struct reader *r;
	struct out *o;
	struct out body; /* of the line that waits */
	char *text;
	size_t bytes, room;
	bool verbose, waits, begun;
	uint64_t first_ts, ts; /* of the first line; of the one that waits */
	uint64_t index;	       /* of the one that waits */
	char head[128];
};

static int keep(void *arg, const char *text, size_t bytes)
{
	struct trace_latency *l = arg;

	if (l->room - l->bytes < bytes) {
		size_t room = l->bytes + bytes + 4096;
		char *more = realloc(l->text, room);

		if (!more)
			return -ENOMEM;
		l->text = more;
		l->room = room;
	}
	memcpy(l->text + l->bytes, text, bytes);
	l->bytes += bytes;
	return 0;
}

struct trace_latency *trace_latency_new(const struct reader *r, struct out *o)
{
	struct trace_latency *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	if (out_init_sink(&l->body, keep, l)) {
		free(l);
		return NULL;
	}
	l->body.terminal = o->terminal;
	l->r = r;
	l->o = o;
	l->verbose = reader_option(r, AREA_OPTION_VERBOSE);
	return l;
}

void trace_latency_free(struct trace_latency *l)
{
	if (!l)
		return;
	trace_latency_flush(l);
	out_end(&l->body);
	free(l->text);
	free(l);
}

static void put_place(const struct reader *r, struct out *o, const char *what, uint64_t addr)
{
	out_printf(o, "#  => %s", what);
	place_put(r, o, addr);
	out_text(o, "\n");
}

/* Where it began and ended; for a lock, its name, and the thread that waited for it. */
static void put_places(const struct reader *r, struct out *o, const struct area_latency *of)
{
	static const char *const sorts[] = {[AREA_LOCK_MUTEX] = "mutex",
					    [AREA_LOCK_READER] = "rwlock, read",
					    [AREA_LOCK_WRITER] = "rwlock, write",
					    [AREA_LOCK_SPIN] = "spinlock",
					    [AREA_LOCK_MTX] = "mtx",
					    [AREA_LOCK_SEM] = "semaphore"};
	const char *name = r->latency ? r->latency->lock_name : "";

	if (!of->started_at && !of->ended_at)
		return;
	put_place(r, o, "started at: ", of->started_at);
	put_place(r, o, "ended at:   ", of->ended_at);
	if (of->lock) {
		out_printf(o, "#  => lock:       0x%" PRIx64, of->lock);
		if (name[0])
			out_printf(o, " %s", name);
		if (of->lock_sort < sizeof(sorts) / sizeof(sorts[0]) && sorts[of->lock_sort])
			out_printf(o, " (%s)", sorts[of->lock_sort]);
		out_text(o, "\n");
	}
	if (of->lock_site)
		put_place(r, o, "allocated:  ", of->lock_site);
	for (uint32_t i = 0; i < of->nr_waiters && i < AREA_LATENCY_WAITERS; i++)
		out_printf(o, "#  => waited:     %.16s-%d for %" PRIu64 " us\n",
			   of->waiters[i].comm, of->waiters[i].tid,
			   of->waiters[i].waited_ns / 1000);
	out_text(o, "#\n");
}

void trace_latency_lines(const struct reader *r, struct out *o, const char *tracer,
			 uint64_t in_buffer, uint64_t written)
{
	static const struct area_latency none;
	const struct area_latency *of = r->latency ? &r->latency->of : &none;
	char release[64] = "";

	sscanf(r->uname, "%*s %*s %63s", release);
	out_printf(o,
		   "# %s latency trace v1.1.5 on %s\n"
		   "# --------------------------------------------------------------------\n",
		   tracer, release);
	out_printf(o,
		   "# latency: %" PRIu64 " us, #%" PRIu64 "/%" PRIu64
		   ", CPU#%u | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:%u)\n",
		   of->latency_ns / 1000, in_buffer, written, of->cpu, r->nr_cpus_online);
	out_printf(o,
		   "#    -----------------\n"
		   "#    | task: %.16s-%d (uid:%u nice:%d policy:%u rt_prio:%u)\n"
		   "#    -----------------\n",
		   of->comm, of->tid, of->uid, of->nice, of->policy, of->rt_prio);
	put_places(r, o, of);
	out_text(o, "#\n");
}

void trace_latency_header(struct trace_latency *l, uint64_t in_buffer, uint64_t written)
{
	static const char art[] = "#                    _------=> CPU#            \n"
				  "#                   / _-----=> irqs-off/BH-disabled\n"
				  "#                  | / _----=> need-resched    \n"
				  "#                  || / _---=> hardirq/softirq \n"
				  "#                  ||| / _--=> preempt-depth   \n"
				  "#                  |||| / _-=> migrate-disable \n"
				  "#                  ||||| /     delay           \n"
				  "#  cmd     pid     |||||| time  |   caller     \n"
				  "#     \\   /        ||||||  \\    |    /       \n";

	if (!in_buffer)
		return;
	trace_latency_lines(l->r, l->o, l->r->tracer[0] ? l->r->tracer : "nop", in_buffer, written);
	if (!l->verbose)
		out_text(l->o, art);
}

/* The mark of a long delay, as function_graph's overhead. */
static char mark_of(uint64_t ns)
{
	static const struct {
		uint64_t ns;
		char mark;
	} marks[] = {{1000000000, '$'}, {100000000, '@'}, {10000000, '*'},
		     {1000000, '#'},	{100000, '!'},	  {10000, '+'}};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ns > marks[i].ns)
			return marks[i].mark;
	return ' ';
}

/* nanoseconds to whole microseconds, rounded as the kernel does */
static uint64_t us_of(uint64_t ns)
{
	return (ns + 500) / 1000;
}

static void put_waiting(struct trace_latency *l, uint64_t next_ts)
{
	uint64_t since = l->ts - l->first_ts, to_next = next_ts > l->ts ? next_ts - l->ts : 0;

	if (!l->waits)
		return;
	l->waits = false;
	out_text(l->o, l->head);
	if (!l->r->ts_is_ns)
		out_printf(l->o, " %4" PRIu64 ": ", l->ts);
	else if (l->verbose)
		out_printf(l->o,
			   "[%08" PRIx64 "] %" PRIu64 ".%03" PRIu64 "ms (+%" PRIu64 ".%03" PRIu64
			   "ms): ",
			   us_of(l->ts), us_of(since) / 1000, us_of(since) % 1000,
			   us_of(to_next) / 1000, us_of(to_next) % 1000);
	else
		out_printf(l->o, " %4" PRIu64 "us%c: ", us_of(since), mark_of(to_next));
	out_flush(&l->body);
	out_write(l->o, l->text, l->bytes);
	l->bytes = 0;
}

void trace_latency_next(struct trace_latency *l, const struct record *rec)
{
	put_waiting(l, rec->ts);
}

void trace_latency_hold(struct trace_latency *l, const struct record *rec)
{
	const char *comm = tasks_comm(l->r->tasks, rec->pid);
	char flags[5];

	if (!l->begun)
		l->first_ts = l->r->latency ? l->r->latency->begin_ts : rec->ts;
	if (l->first_ts > rec->ts)
		l->first_ts = rec->ts;
	l->index = l->begun ? l->index + 1 : 0;
	l->begun = l->waits = true;
	l->ts = rec->ts;
	trace_text_flags(flags, rec->flags, rec->preempt_count);
	if (l->verbose)
		snprintf(l->head, sizeof(l->head), "%16s %7d %3d %d %08x %08" PRIx64 " ", comm,
			 rec->pid, (int)rec->cpu, rec->flags, rec->preempt_count, l->index);
	else
		snprintf(l->head, sizeof(l->head), "%8.8s-%-7d %3d%.5s", comm, rec->pid,
			 (int)rec->cpu, flags);
}

struct out *trace_latency_body(struct trace_latency *l)
{
	return &l->body;
}

void trace_latency_flush(struct trace_latency *l)
{
	put_waiting(l, l->ts);
}
