/* SPDX-License-Identifier: MIT */
/*
 * See graph_text.h. The kernel's text under function_graph, byte for byte as Linux 6.12 prints it,
 * with the options that shape it. For each CPU it keeps the same data as the kernel: the task of
 * the last line, the depth (for comments), and the function that was opened at each depth, so that
 * a `}` whose opening line is not above it names its function.
 *
 * Ours alone: the duration of a call whose entry is not in the trace is blank; from depth 1000 on
 * lines are not indented further. The options about irqs, sleep-time and graph-time are known and
 * change nothing here: a process sees no interrupts, and times are taken when recorded.
 *
 * Costs about 40 ns a line; bench: `report`. Tests: tests/unit/test_graph_text.c, against captures
 * of a kernel.
 */
#include "tools/text/graph_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/hash.h"
#include "tools/code/symbols.h"
#include "tools/reader/tasks.h"
#include "tools/text/event_text.h"
#include "tools/text/number.h"
#include "tools/text/printk_text.h"
#include "tools/text/trace_forms.h"
#include "tools/text/trace_text.h"
#include "tools/text/value_text.h"

#define NAME_SLOTS  8192u /* a power of two */
#define OPEN_DEPTHS 50u	  /* as many as the kernel remembers */
#define MAX_INDENT  1000u
#define PROC_WIDTH  14
#define LINE_BYTES  256u /* of a line, without indentation and names */
#define NAME_BYTES  512u /* of a function and its module; longer names are not kept in a slot */
#define NAME_FIRST  32u	 /* bytes of the name that are in the slot itself */
#define ROOM_BYTES  (LINE_BYTES + 2 * MAX_INDENT + 16 + NAME_BYTES)

struct name_slot {
	uint64_t addr;
	const char *name; /* NULL: empty */
	const char *module;
	uint32_t name_bytes, module_bytes;
	char first[NAME_FIRST]; /* of the name */
};

struct cpu_state {
	int32_t last_pid; /* -1: nothing was printed yet */
	int32_t depth;
	uint64_t open[OPEN_DEPTHS];
};

struct graph_text {
	struct reader *r;
	struct out *o;
	const bool *cpus;
	uint32_t options;
	bool context; /* the option context-info: more than the functions */
	unsigned int cpu_width;
	struct event_text *events;
	struct trace_text *plain;
	struct value_text *values;
	struct cpu_state *cpu;
	struct name_slot names[NAME_SLOTS];
};

static const struct {
	const char *name;
	uint32_t bit;
	int area; /* enum area_option */
} options[] = {
	{"funcgraph-overrun", GRAPH_PRINT_OVERRUN, AREA_OPTION_FUNCGRAPH_OVERRUN},
	{"funcgraph-cpu", GRAPH_PRINT_CPU, AREA_OPTION_FUNCGRAPH_CPU},
	{"funcgraph-overhead", GRAPH_PRINT_OVERHEAD, AREA_OPTION_FUNCGRAPH_OVERHEAD},
	{"funcgraph-proc", GRAPH_PRINT_PROC, AREA_OPTION_FUNCGRAPH_PROC},
	{"funcgraph-duration", GRAPH_PRINT_DURATION, AREA_OPTION_FUNCGRAPH_DURATION},
	{"funcgraph-abstime", GRAPH_PRINT_ABSTIME, AREA_OPTION_FUNCGRAPH_ABSTIME},
	{"funcgraph-irqs", GRAPH_PRINT_IRQS, AREA_OPTION_FUNCGRAPH_IRQS},
	{"funcgraph-tail", GRAPH_PRINT_TAIL, AREA_OPTION_FUNCGRAPH_TAIL},
	{"funcgraph-retval", GRAPH_PRINT_RETVAL, AREA_OPTION_FUNCGRAPH_RETVAL},
	{"funcgraph-retval-hex", GRAPH_PRINT_RETVAL_HEX, AREA_OPTION_FUNCGRAPH_RETVAL_HEX},
	{"funcgraph-args", GRAPH_PRINT_ARGS, AREA_OPTION_FUNCGRAPH_ARGS},
	{"sleep-time", GRAPH_SLEEP_TIME, AREA_OPTION_SLEEP_TIME},
	{"graph-time", GRAPH_GRAPH_TIME, AREA_OPTION_GRAPH_TIME},
	{"latency-format", GRAPH_LATENCY_FORMAT, AREA_OPTION_LATENCY_FORMAT},
};

#define NR_OPTIONS (sizeof(options) / sizeof(options[0]))

bool graph_option_set(uint32_t *bits, const char *name)
{
	bool clear = strncmp(name, "no", 2) == 0;

	if (clear)
		name += 2;
	for (size_t i = 0; i < NR_OPTIONS; i++) {
		if (strcmp(name, options[i].name) != 0)
			continue;
		*bits = clear ? *bits & ~options[i].bit : *bits | options[i].bit;
		return true;
	}
	return false;
}

uint32_t graph_options_of(const struct reader *r)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < NR_OPTIONS; i++)
		if (reader_option(r, (enum area_option)options[i].area))
			bits |= options[i].bit;
	return bits;
}

const char *graph_option_name(unsigned int i)
{
	return i < NR_OPTIONS ? options[i].name : NULL;
}

struct graph_text *graph_text_new(struct reader *r, struct out *o, const bool *cpus, uint32_t bits)
{
	struct graph_text *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->r = r;
	g->o = o;
	g->cpus = cpus;
	g->options = bits;
	g->context = reader_option(r, AREA_OPTION_CONTEXT_INFO);
	if (!g->context)
		g->options &= ~(uint32_t)(GRAPH_PRINT_ABSTIME | GRAPH_PRINT_CPU | GRAPH_PRINT_PROC |
					  GRAPH_LATENCY_FORMAT | GRAPH_PRINT_DURATION);
	g->cpu_width = number_width(r->nr_cpus ? r->nr_cpus - 1 : 0);
	g->cpu = calloc(r->nr_cpus + 1u, sizeof(*g->cpu));
	g->events = event_text_new(r);
	g->plain = trace_text_new(r, o, cpus);
	g->values = value_text_new(r);
	if (!g->cpu || !g->events || !g->plain || !g->values) {
		graph_text_free(g);
		return NULL;
	}
	for (unsigned int cpu = 0; cpu < r->nr_cpus; cpu++)
		g->cpu[cpu].last_pid = -1;
	return g;
}

void graph_text_free(struct graph_text *g)
{
	if (!g)
		return;
	event_text_free(g->events);
	trace_text_free(g->plain);
	value_text_free(g->values);
	free(g->cpu);
	free(g);
}

/* Latency tracers may record calls, too. */
static const char *tracer_of(const struct graph_text *g)
{
	return g->r->latency ? g->r->tracer : "function_graph";
}

static void latency_header(struct graph_text *g)
{
	static const char *const art[] = {
		"  _-----=> irqs-off        ", " / _----=> need-resched    ",
		"| / _---=> hardirq/softirq ", "|| / _--=> preempt-depth   ",
		"||| /                      ",
	};
	uint64_t in_buffer = 0, written = 0;
	int indent = 0;

	for (unsigned int cpu = 0; g->r->stats && cpu < g->r->nr_cpus; cpu++) {
		if (g->cpus && !g->cpus[cpu])
			continue;
		in_buffer += g->r->stats[cpu].entries;
		written += g->r->stats[cpu].entries + g->r->stats[cpu].overrun;
	}
	trace_latency_lines(g->r, g->o, tracer_of(g), in_buffer, written);
	if (g->options & GRAPH_PRINT_ABSTIME)
		indent += 16;
	if (g->options & GRAPH_PRINT_CPU)
		indent += 4;
	if (g->options & GRAPH_PRINT_PROC)
		indent += 17;
	for (size_t i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		out_printf(g->o, "#%*s%s\n", indent, "", art[i]);
}

void graph_text_header(struct graph_text *g)
{
	static const struct {
		uint32_t option; /* 0: always */
		const char *titles[2];
	} columns[] = {
		{GRAPH_PRINT_ABSTIME, {"     TIME       ", "      |         "}},
		{GRAPH_PRINT_CPU, {" CPU", " |  "}},
		{GRAPH_PRINT_PROC, {"  TASK/PID       ", "   |    |        "}},
		{GRAPH_LATENCY_FORMAT, {"||||   ", "||||   "}},
		{GRAPH_PRINT_DURATION, {"  DURATION   ", "   |   |      "}},
		{0, {"               FUNCTION CALLS\n", "               |   |   |   |\n"}},
	};

	out_printf(g->o, "# tracer: %s\n#\n", tracer_of(g));
	if (!g->context)
		return;
	if (g->options & GRAPH_LATENCY_FORMAT)
		latency_header(g);
	for (int line = 0; line < 2; line++) {
		out_text(g->o, "#");
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			if (!columns[i].option || g->options & columns[i].option)
				out_text(g->o, columns[i].titles[line]);
	}
}

static const struct name_slot *name_of(struct graph_text *g, uint64_t addr)
{
	struct name_slot *slot;
	const struct symbol *sym;

	slot = &g->names[hash_u64(addr) >> 51 & (NAME_SLOTS - 1)];
	if (slot->name && slot->addr == addr)
		return slot;
	sym = symbols_find(g->r->symbols, addr);
	if (!sym)
		return NULL;
	slot->addr = addr;
	slot->name = sym->name;
	slot->name_bytes = (uint32_t)strlen(sym->name);
	slot->module = sym->module;
	slot->module_bytes = sym->module ? (uint32_t)strlen(sym->module) : 0;
	memset(slot->first, 0, sizeof(slot->first));
	memcpy(slot->first, sym->name,
	       slot->name_bytes < NAME_FIRST ? slot->name_bytes : NAME_FIRST);
	return slot;
}

/* Room for a line, in one piece. */
static inline char *line_room(struct graph_text *g)
{
	return out_room(g->o, ROOM_BYTES);
}

/* Put a string literal, whose length the compiler knows. */
#define PUT(p, text) ((char *)memcpy((p), (text), sizeof(text) - 1) + sizeof(text) - 1)

static __attribute__((noinline)) char *put_long_name(struct graph_text *g, char *p, uint64_t addr,
						     const struct name_slot *f)
{
	out_done(g->o, p);
	if (!f) {
		out_printf(g->o, "0x%" PRIx64, addr);
		return line_room(g);
	}
	out_write(g->o, f->name, f->name_bytes);
	if (f->module) {
		out_write(g->o, " [", 2);
		out_write(g->o, f->module, f->module_bytes);
		out_write(g->o, "]", 1);
	}
	return line_room(g);
}

/* As the kernel's %ps: `name`, `name [module]`, or the address. */
static inline char *put_name(struct graph_text *g, char *p, uint64_t addr)
{
	const struct name_slot *f = name_of(g, addr);

	if (!f || f->name_bytes > NAME_BYTES / 2 || f->module_bytes > NAME_BYTES / 2 - 3)
		return put_long_name(g, p, addr, f);
	memcpy(p, f->first, NAME_FIRST);
	if (f->name_bytes > NAME_FIRST)
		memcpy(p, f->name, f->name_bytes);
	p += f->name_bytes;
	if (f->module) {
		p = PUT(p, " [");
		p = (char *)memcpy(p, f->module, f->module_bytes) + f->module_bytes;
		*p++ = ']';
	}
	return p;
}

/* comm cut to 7 and pid, in the middle of 14 columns. */
static char *put_proc(struct graph_text *g, char *p, int32_t pid)
{
	char text[40];
	int n = snprintf(text, sizeof(text), "%.7s-%d", tasks_comm(g->r->tasks, pid), pid);
	int blanks = n < PROC_WIDTH ? PROC_WIDTH - n : 0;

	memset(p, ' ', PROC_WIDTH);
	memcpy(p + blanks / 2, text, (size_t)n);
	return p + (n > PROC_WIDTH ? n : PROC_WIDTH);
}

/* ` %*d) ` */
static char *put_cpu(struct graph_text *g, char *p, unsigned int cpu)
{
	*p++ = ' ';
	p = number_right(p, cpu, g->cpu_width);
	return PUT(p, ") ");
}

/* The lines between two tasks on one CPU. */
static void put_task_change(struct graph_text *g, const struct record *rec)
{
	static const char rule[] = " ------------------------------------------\n";
	struct cpu_state *cpu = &g->cpu[rec->cpu];
	int32_t last = cpu->last_pid;
	char *p;

	cpu->last_pid = rec->pid;
	if (last == -1 || last == rec->pid)
		return;
	out_text(g->o, rule);
	p = put_cpu(g, out_room(g->o, LINE_BYTES), rec->cpu);
	p = put_proc(g, p, last);
	p = PUT(p, " => ");
	p = put_proc(g, p, rec->pid);
	*p++ = '\n';
	out_done(g->o, p);
	out_text(g->o, rule);
	out_text(g->o, "\n");
}

/* The text before the duration. */
static char *put_context(struct graph_text *g, char *p, const struct record *rec, uint64_t ts)
{
	if (g->options & GRAPH_PRINT_ABSTIME) {
		p = number_right(p, ts / 1000000000, 5);
		*p++ = '.';
		p = number_six(p, (uint32_t)(ts % 1000000000 / 1000));
		p = PUT(p, " |  ");
	}
	if (g->options & GRAPH_PRINT_CPU)
		p = put_cpu(g, p, rec->cpu);
	if (g->options & GRAPH_PRINT_PROC) {
		p = put_proc(g, p, rec->pid);
		p = PUT(p, " | ");
	}
	if (g->options & GRAPH_LATENCY_FORMAT) {
		*p++ = ' ';
		trace_text_flags(p, rec->flags, rec->preempt_count);
		p = PUT(p + 5, " | ");
	}
	return p;
}

static char overhead_mark(uint64_t ns)
{
	static const struct {
		uint64_t above;
		char mark;
	} marks[] = {{1000000000, '$'}, {100000000, '@'}, {10000000, '*'},
		     {1000000, '#'},	{100000, '!'},	  {10000, '+'}};

	if (ns <= 10000)
		return ' ';
	for (size_t i = 0;; i++)
		if (ns > marks[i].above)
			return marks[i].mark;
}

/* The cell of the duration: at most seven digits and a point, ` us `, blanks to twelve. */
static inline char *put_duration(struct graph_text *g, char *p, uint64_t ns)
{
	static const char end[16] = "    |  "; /* behind ` us `, by digits of the microseconds */
	uint64_t us = ns / 1000;
	unsigned int digits = number_width(us);

	if (!(g->options & GRAPH_PRINT_DURATION))
		return p;
	*p++ = g->options & GRAPH_PRINT_OVERHEAD ? overhead_mark(ns) : ' ';
	*p++ = ' ';
	p = number_zeros(p, us, digits);
	if (digits <= 4) {
		*p++ = '.';
		p = number_zeros(p, ns % 1000, 3);
		p = PUT(p, " us ");
		memcpy(p, end + digits, 8);
		return p + 7 - digits;
	}
	if (digits < 7) {
		*p++ = '.';
		number_zeros(p, ns % 1000, 3);
		p += 7 - digits;
	}
	p = PUT(p, " us ");
	if (digits == 7)
		*p++ = ' ';
	return PUT(p, "|  ");
}

static inline char *put_no_duration(const struct graph_text *g, char *p)
{
	return g->options & GRAPH_PRINT_DURATION ? PUT(p, "              |  ") : p;
}

static inline char *put_indent(char *p, uint64_t depth)
{
	size_t n = 2 * (depth < MAX_INDENT ? depth : MAX_INDENT);

	for (size_t i = 0; i < n; i += 16)
		memset(p + i, ' ', 16);
	return p + n;
}

static bool has_retval(struct graph_text *g, const struct graph_event *ev)
{
	return g->options & GRAPH_PRINT_RETVAL && ev->flags & GRAPH_RETVAL &&
	       !value_text_is_void(g->values, ev->ip);
}

static void put_retval(struct graph_text *g, const struct graph_event *ev)
{
	out_text(g->o, "= ");
	value_text_result(g->values, g->o, ev->ip, ev->retval, g->options & GRAPH_PRINT_RETVAL_HEX);
}

/* `name()`, with its arguments. */
static inline char *put_call(struct graph_text *g, char *p, const struct graph_event *ev)
{
	p = put_name(g, p, ev->ip);
	if (!(g->options & GRAPH_PRINT_ARGS && ev->flags & GRAPH_ARGS))
		return PUT(p, "()");
	out_done(g->o, p);
	value_text_args(g->values, g->o, ev->ip, ev->args);
	return line_room(g);
}

static void put_entry(struct graph_text *g, const struct graph_event *ev)
{
	struct cpu_state *cpu = &g->cpu[ev->rec->cpu];
	char *p = put_context(g, line_room(g), ev->rec, ev->rec->ts);

	cpu->depth = (int32_t)(ev->depth & INT32_MAX);
	if (ev->depth < OPEN_DEPTHS)
		cpu->open[ev->depth] = ev->ip;
	p = put_indent(put_no_duration(g, p), ev->depth);
	p = put_call(g, p, ev);
	out_done(g->o, PUT(p, " {\n"));
}

static void put_leaf(struct graph_text *g, const struct graph_event *ev)
{
	struct cpu_state *cpu = &g->cpu[ev->rec->cpu];
	char *p = put_context(g, line_room(g), ev->rec, ev->rec->ts);

	/* a comment that follows is not inside it */
	cpu->depth = (int32_t)(ev->depth & INT32_MAX) - 1;
	if (ev->depth < OPEN_DEPTHS)
		cpu->open[ev->depth] = 0;
	p = put_indent(put_duration(g, p, ev->end - ev->start), ev->depth);
	p = put_call(g, p, ev);
	if (!has_retval(g, ev)) {
		out_done(g->o, PUT(p, ";\n"));
		return;
	}
	out_done(g->o, PUT(p, "; /* "));
	put_retval(g, ev);
	out_text(g->o, " */\n");
}

static void put_exit(struct graph_text *g, const struct graph_event *ev)
{
	struct cpu_state *cpu = &g->cpu[ev->rec->cpu];
	bool retval = has_retval(g, ev);
	bool named = retval || g->options & GRAPH_PRINT_TAIL;
	char *p = put_context(g, line_room(g), ev->rec, ev->rec->ts);

	cpu->depth = (int32_t)(ev->depth & INT32_MAX) - 1;
	if (ev->depth < OPEN_DEPTHS) {
		named |= cpu->open[ev->depth] != ev->ip;
		cpu->open[ev->depth] = 0;
	}
	p = ev->flags & GRAPH_NO_START ? put_no_duration(g, p)
				       : put_duration(g, p, ev->end - ev->start);
	p = put_indent(p, ev->depth);
	if (!named) {
		out_done(g->o, PUT(p, "}\n"));
	} else {
		out_done(g->o, put_name(g, PUT(p, "} /* "), ev->ip));
		if (retval) {
			out_text(g->o, " ");
			put_retval(g, ev);
		}
		out_text(g->o, " */\n");
	}
	if (g->options & GRAPH_PRINT_OVERRUN)
		out_printf(g->o, " (Overruns: %" PRIu32 ")\n", ev->overrun);
}

/* A record that is neither entry nor exit is a comment between them. */
static void put_comment(struct graph_text *g, const struct record *rec)
{
	int32_t depth = g->cpu[rec->cpu].depth;
	char *p = put_context(g, line_room(g), rec, rec->ts);
	char text[PRINTK_TEXT_BYTES];
	struct record print = *rec;
	const char *bare;

	if (printk_text_take(g->r, &print, text))
		rec = &print;

	p = put_no_duration(g, p);
	if (depth > 0)
		p = put_indent(p, (uint64_t)depth + 1);
	out_done(g->o, PUT(p, "/* "));
	if (rec->kind == RECORD_PRINT)
		out_string(g->o, rec->data, rec->data_bytes);
	else if (rec->kind == RECORD_EVENT && (bare = event_text_bare_name(g->events, rec)))
		out_text(g->o, bare);
	else if (rec->kind == RECORD_EVENT)
		event_text_body(g->events, g->o, rec);
	else
		out_printf(g->o, "Unknown type %u", rec->kind);
	out_text(g->o, " */\n");
}

/* Function records and stacks have lines as with the tracer function, not comments. */
static void put_plain(struct graph_text *g, const struct graph_event *ev)
{
	struct record rec = *ev->rec;

	rec.lost = 0;
	trace_text_record(g->plain, &rec);
	trace_text_flush(g->plain);
}

void graph_text_event(struct graph_text *g, const struct graph_event *ev)
{
	const struct record *rec = ev->rec;

	if (ev->lost == RECORD_LOST_UNKNOWN)
		out_printf(g->o, "CPU:%u [LOST EVENTS]\n", rec->cpu);
	else if (ev->lost)
		out_printf(g->o, "CPU:%u [LOST %" PRIu64 " EVENTS]\n", rec->cpu, ev->lost);
	if (ev->type == GRAPH_OTHER &&
	    (rec->kind == RECORD_FUNCTION || event_text_is_stack(g->events, rec))) {
		put_plain(g, ev);
		return;
	}
	if (g->cpu[rec->cpu].last_pid != rec->pid)
		put_task_change(g, rec);
	switch (ev->type) {
	case GRAPH_ENTRY:
		put_entry(g, ev);
		break;
	case GRAPH_LEAF:
		put_leaf(g, ev);
		break;
	case GRAPH_EXIT:
		put_exit(g, ev);
		break;
	default:
		put_comment(g, rec);
		break;
	}
}
