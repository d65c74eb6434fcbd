/* SPDX-License-Identifier: MIT */
/*
 * See trace_text.h. The kernel's text, byte for byte, for the tracers nop and function (Linux 6.12:
 * trace.c's print_func_help_header_irq and trace_print_context, trace_output.c's function line).
 *
 * A function record costs about 30 ns: names, the task's column and the seconds are kept ready as
 * text. Bench: `report` in `make bench`. Tests: tests/unit/test_text.c.
 */
#include "tools/text/trace_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/event_text.h"
#include "tools/text/ftrace_text.h"
#include "tools/text/mmio_text.h"
#include "tools/text/name_slots.h"
#include "tools/text/number.h"
#include "tools/text/printk_text.h"
#include "tools/text/trace_forms.h"
#include "tools/text/value_text.h"

#define TASK_SLOTS 256u /* a power of two */
#define TASK_BYTES 32u
#define HEX_BYTES  20u
/* of a line, without the names of functions */
#define LINE_BYTES 160u

struct task_slot {
	int32_t pid;
	uint32_t bytes; /* 0: empty */
	char text[TASK_BYTES];
};

struct trace_text {
	struct reader *r;
	struct out *o;
	const bool *cpus;
	struct event_text *events;
	struct value_text *values;
	/* as the options have it */
	bool context, irq_info, tgid, plain_names, plain_places, args, verbose, msg_only, fields;
	enum trace_form form;
	struct trace_latency *latency; /* NULL: not this format */
	bool is_mmio;		       /* the tracer has lines of its own */
	bool plain_lines;	       /* none of the four above changes a line */
	bool annotate; /* records were overwritten: print `buffer started` for each CPU */
	bool *started; /* a CPU each */
	bool any;      /* a line was printed */
	uint64_t sec;  /* the second whose text is below */
	uint32_t sec_bytes;
	char sec_text[NUMBER_DIGITS + 2];
	char hex[2][HEX_BYTES]; /* functions without a symbol: this one's and its parent's */
	struct task_slot tasks[TASK_SLOTS];
	struct name_slots names;
};

static bool has_cpu(const struct trace_text *t, unsigned int cpu)
{
	return !t->cpus || t->cpus[cpu];
}

struct trace_text *trace_text_new(struct reader *r, struct out *o, const bool *cpus)
{
	struct trace_text *t = calloc(1, sizeof(*t));
	unsigned int cpu;

	if (!t)
		return NULL;
	t->r = r;
	t->o = o;
	t->cpus = cpus;
	t->sec = UINT64_MAX;
	t->started = calloc(r->nr_cpus + 1u, sizeof(*t->started));
	t->events = event_text_new(r);
	t->values = value_text_new(r);
	if (!t->started || !t->events || !t->values) {
		trace_text_free(t);
		return NULL;
	}
	t->context = reader_option(r, AREA_OPTION_CONTEXT_INFO);
	t->irq_info = reader_option(r, AREA_OPTION_IRQ_INFO);
	t->tgid = reader_option(r, AREA_OPTION_RECORD_TGID);
	t->args = reader_option(r, AREA_OPTION_FUNC_ARGS);
	t->plain_places = !reader_option(r, AREA_OPTION_SYM_OFFSET) &&
			  !reader_option(r, AREA_OPTION_SYM_ADDR);
	t->plain_names = t->plain_places && reader_option(r, AREA_OPTION_PRINT_PARENT);
	t->verbose = reader_option(r, AREA_OPTION_VERBOSE);
	t->msg_only = reader_option(r, AREA_OPTION_TRACE_PRINTK) &&
		      reader_option(r, AREA_OPTION_PRINTK_MSG_ONLY);
	t->fields = reader_option(r, AREA_OPTION_FIELDS);
	t->is_mmio = !strcmp(r->tracer, "mmiotrace");
	t->form = trace_form_of(r);
	if (reader_option(r, AREA_OPTION_LATENCY_FORMAT)) {
		t->latency = trace_latency_new(r, o);
		if (!t->latency) {
			trace_text_free(t);
			return NULL;
		}
	}
	t->plain_lines = !t->msg_only && !t->fields && !t->latency && t->form == TRACE_FORM_DEFAULT;
	for (cpu = 0; reader_option(r, AREA_OPTION_ANNOTATE) && r->stats && cpu < r->nr_cpus;
	     cpu++) {
		if (has_cpu(t, cpu) && r->stats[cpu].overrun)
			t->annotate = true;
	}
	return t;
}

void trace_text_free(struct trace_text *t)
{
	if (!t)
		return;
	trace_latency_free(t->latency);
	event_text_free(t->events);
	value_text_free(t->values);
	free(t->started);
	free(t);
}

void trace_text_pipe(struct trace_text *t)
{
	t->annotate = false;
}

/* The lines over the columns; with record-tgid they are ten characters wider. */
static void put_titles(struct trace_text *t)
{
	static const char *const art[] = {
		"                                _-----=> irqs-off/BH-disabled\n",
		"                               / _----=> need-resched\n",
		"                              | / _---=> hardirq/softirq\n",
		"                              || / _--=> preempt-depth\n",
		"                              ||| / _-=> migrate-disable\n",
		"                              |||| /     delay\n",
	};
	const char *gap = t->tgid ? "          " : "";

	out_text(t->o, "#\n");
	for (size_t i = 0; t->irq_info && i < sizeof(art) / sizeof(*art); i++)
		out_printf(t->o, "#%s%s", gap, art[i]);
	out_printf(t->o, "#           TASK-PID    %s CPU#  %s  TIMESTAMP  FUNCTION\n",
		   t->tgid ? "   TGID   " : "", t->irq_info ? "|||||" : " ");
	out_printf(t->o, "#              | |      %s   |   %s     |         |\n",
		   t->tgid ? "     |    " : "", t->irq_info ? "|||||" : " ");
}

void trace_text_header(struct trace_text *t)
{
	uint64_t in_buffer = 0, written = 0;
	unsigned int cpu;

	for (cpu = 0; t->r->stats && cpu < t->r->nr_cpus; cpu++) {
		if (!has_cpu(t, cpu))
			continue;
		in_buffer += t->r->stats[cpu].entries;
		written += t->r->stats[cpu].entries + t->r->stats[cpu].overrun;
	}
	out_printf(t->o, "# tracer: %s\n#\n", t->r->tracer[0] ? t->r->tracer : "nop");
	if (ftrace_text_titles(t->o, t->r->tracer) || !t->context)
		return;
	if (t->latency) {
		trace_latency_header(t->latency, in_buffer, written);
		return;
	}
	if (t->verbose)
		return;
	out_printf(t->o, "# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64 "   #P:%u\n",
		   in_buffer, written, t->r->nr_cpus_online);
	put_titles(t);
}

static char nibble(unsigned int v)
{
	return v ? "0123456789abcdef"[v] : '.';
}

void trace_text_flags(char to[5], uint8_t flags, uint8_t preempt_count)
{
	/* by NEED_RESCHED, PREEMPT_RESCHED and the lazy bit of 6.13 and later */
	static const char resched[] = ".lpLnbNB";
	bool hard = flags & 0x08, soft = flags & 0x10, nmi = flags & 0x40;

	if (flags & 0x80)
		to[0] = flags & 0x01 ? 'D' : 'b';
	else
		to[0] = flags & 0x01 ? 'd' : '.';
	to[1] = resched[(flags & 0x04) | (flags & 0x20) >> 4 | (flags & 0x02) >> 1];
	if (nmi)
		to[2] = hard ? 'Z' : 'z';
	else if (hard)
		to[2] = soft ? 'H' : 'h';
	else
		to[2] = soft ? 's' : '.';
	to[3] = nibble(preempt_count & 15);
	to[4] = nibble(preempt_count >> 4);
}

/* `            comm-pid     `: "%16s-%-7d " */
static const struct task_slot *task_of(struct trace_text *t, int32_t pid)
{
	struct task_slot *slot = &t->tasks[(uint32_t)pid % TASK_SLOTS];
	char text[TASK_BYTES + 16];

	if (!slot->bytes || slot->pid != pid) {
		int n = snprintf(text, sizeof(text), "%16s-%-7d ", tasks_comm(t->r->tasks, pid),
				 pid);

		slot->pid = pid;
		slot->bytes = n < (int)TASK_BYTES ? (uint32_t)n : TASK_BYTES;
		memcpy(slot->text, text, slot->bytes);
	}
	return slot;
}

/*
 * The name of a function; @which: 0 or 1, whose room for a number is used when there is none.
 */
static struct name_slot name_of(struct trace_text *t, uint64_t addr, int which)
{
	struct name_slot *slot;
	const struct symbol *sym;

	slot = name_slot_of(&t->names, addr);
	if (name_slot_has(slot, addr))
		return *slot;
	sym = symbols_find(t->r->symbols, addr);
	if (!sym) {
		int n = snprintf(t->hex[which], HEX_BYTES, "0x%08llx", (unsigned long long)addr);

		return (struct name_slot){.name = t->hex[which], .bytes = (size_t)n};
	}
	name_slot_set(slot, addr, sym->name);
	return *slot;
}

/* ` %5lu.%06lu: ` with the microseconds rounded, or ` %12llu: ` of a clock that is not in ns. */
static char *put_stamp(struct trace_text *t, char *p, uint64_t ts)
{
	uint64_t us, sec;

	if (!t->r->ts_is_ns) {
		*p++ = ' ';
		p = number_right(p, ts, 12);
	} else {
		us = ts / 1000 + (ts % 1000 >= 500);
		sec = us / 1000000;
		if (sec != t->sec) {
			char *end = t->sec_text;

			*end++ = ' ';
			end = number_right(end, sec, 5);
			*end++ = '.';
			t->sec = sec;
			t->sec_bytes = (uint32_t)(end - t->sec_text);
		}
		memcpy(p, t->sec_text, sizeof(t->sec_text));
		p = number_six(p + t->sec_bytes, (uint32_t)(us % 1000000));
	}
	*p++ = ':';
	*p++ = ' ';
	return p;
}

/* Everything before the text of the event; @p has room for LINE_BYTES. */
static char *put_context(struct trace_text *t, char *p, const struct record *rec)
{
	const struct task_slot *task;

	if (!t->context)
		return p;
	task = task_of(t, rec->pid);
	memcpy(p, task->text, TASK_BYTES);
	p += task->bytes;
	if (t->tgid) {
		int32_t tgid = tasks_tgid(t->r->tasks, rec->pid);

		p += tgid ? snprintf(p, 16, "(%7d) ", tgid) : snprintf(p, 16, "(-------) ");
	}
	*p++ = '[';
	p = rec->cpu < 1000 ? number_zeros(p, rec->cpu, 3) : number_put(p, rec->cpu);
	*p++ = ']';
	*p++ = ' ';
	if (!t->irq_info)
		return put_stamp(t, p, rec->ts);
	if (rec->flags | rec->preempt_count)
		trace_text_flags(p, rec->flags, rec->preempt_count);
	else
		memcpy(p, ".....", 5);
	return put_stamp(t, p + 5, rec->ts);
}

static void put_function_body(struct trace_text *t, const struct record *rec)
{
	place_put(t->r, t->o, rec->ip);
	if (t->args && rec->graph & RECORD_GRAPH_ARGS)
		value_text_args(t->values, t->o, rec->ip, rec->args);
	if (reader_option(t->r, AREA_OPTION_PRINT_PARENT)) {
		out_text(t->o, " <-");
		place_put(t->r, t->o, rec->parent_ip);
	}
	out_text(t->o, "\n");
}

static void put_function(struct trace_text *t, const struct record *rec)
{
	struct name_slot f = name_of(t, rec->ip, 0), parent = name_of(t, rec->parent_ip, 1);
	bool fits = f.bytes + parent.bytes + LINE_BYTES + 8 <= OUT_BYTES;
	char *p = out_room(t->o, fits ? f.bytes + parent.bytes + LINE_BYTES + 8 : LINE_BYTES);

	p = put_context(t, p, rec);
	if (!fits) { /* names of a hostile file: no room in one piece */
		out_done(t->o, p);
		out_write(t->o, f.name, f.bytes);
		out_text(t->o, " <-");
		out_write(t->o, parent.name, parent.bytes);
		out_text(t->o, "\n");
		return;
	}
	memcpy(p, f.name, f.bytes);
	p += f.bytes;
	memcpy(p, " <-", 3);
	p += 3;
	memcpy(p, parent.name, parent.bytes);
	p += parent.bytes;
	*p++ = '\n';
	out_done(t->o, p);
}

/* `FUNCTION: TEXT`, as the kernel's print event. */
static void put_print_body(struct trace_text *t, const struct record *rec)
{
	struct name_slot f;

	if (t->plain_places) {
		f = name_of(t, rec->ip, 0);
		out_write(t->o, f.name, f.bytes);
	} else {
		place_put(t->r, t->o, rec->ip);
	}
	out_text(t->o, ": ");
	out_string(t->o, rec->data, rec->data_bytes);
	out_text(t->o, "\n");
}

/* The lines before a record's line. */
static void put_notes(struct trace_text *t, const struct record *rec)
{
	if (rec->lost == RECORD_LOST_UNKNOWN)
		out_printf(t->o, "CPU:%u [LOST EVENTS]\n", rec->cpu);
	else if (rec->lost)
		out_printf(t->o, "CPU:%u [LOST %" PRIu64 " EVENTS]\n", rec->cpu, rec->lost);
	if (t->started[rec->cpu])
		return;
	t->started[rec->cpu] = true;
	if (t->annotate && t->any)
		out_printf(t->o, "##### CPU %u buffer started ####\n", rec->cpu);
}

/* The text of the event, with its newline. */
static void put_body(struct trace_text *t, const struct record *rec)
{
	if (t->fields)
		trace_fields_put(t->r, t->o, rec);
	else if (rec->kind == RECORD_FUNCTION)
		put_function_body(t, rec);
	else if (rec->kind == RECORD_PRINT)
		put_print_body(t, rec);
	else if (rec->kind == RECORD_EVENT)
		event_text_record(t->events, t->o, rec);
	else
		out_printf(t->o, "Unknown type %u\n", rec->kind);
}

static void put_latency(struct trace_text *t, const struct record *rec)
{
	struct out *o = t->o;

	trace_latency_hold(t->latency, rec);
	t->o = trace_latency_body(t->latency);
	put_body(t, rec);
	t->o = o;
}

/* A line in the form of an option that changes it as a whole. */
static void put_otherwise(struct trace_text *t, const struct record *rec)
{
	if (t->msg_only && rec->kind == RECORD_PRINT) {
		out_string(t->o, rec->data, rec->data_bytes);
		out_text(t->o, "\n");
	} else if (t->form != TRACE_FORM_DEFAULT) {
		trace_form_put(t->r, t->o, rec, t->form);
	} else if (t->latency && t->context) {
		put_latency(t, rec);
	} else {
		out_done(t->o, put_context(t, out_room(t->o, LINE_BYTES), rec));
		put_body(t, rec);
	}
}

void trace_text_record(struct trace_text *t, const struct record *rec)
{
	char text[PRINTK_TEXT_BYTES];
	struct record print;

	if (rec->kind == RECORD_EVENT && !t->fields) {
		print = *rec;
		if (printk_text_take(t->r, &print, text))
			rec = &print;
	}
	if (t->latency)
		trace_latency_next(t->latency, rec);
	if (rec->lost || !t->started[rec->cpu])
		put_notes(t, rec);
	t->any = true;
	if (t->is_mmio && t->plain_lines && mmio_text(t->r, t->o, rec))
		return;
	if (!t->plain_lines) {
		put_otherwise(t, rec);
	} else if (rec->kind == RECORD_FUNCTION && t->plain_names &&
		   !(rec->graph & RECORD_GRAPH_ARGS)) {
		put_function(t, rec);
	} else {
		out_done(t->o, put_context(t, out_room(t->o, LINE_BYTES), rec));
		put_body(t, rec);
	}
}

void trace_text_flush(struct trace_text *t)
{
	if (t->latency)
		trace_latency_flush(t->latency);
}
