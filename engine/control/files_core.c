/* SPDX-License-Identifier: MIT */
/*
 * The files of an instance itself: tracer, switch, clock, status. Texts and errno are the kernel's
 * (6.12). Stores: constructor context. Shows: any thread. Tests: tests/engine/fire/control.
 */
#include <errno.h>
#include <time.h>

#include "engine/base/compiler.h"
#include "engine/base/lifecycle.h"
#include "engine/base/mem.h"
#include "engine/control/boot.h"
#include "engine/control/tree.h"
#include "engine/events/trigger/hist.h"
#include "engine/process/area.h"
#include "engine/process/clock.h"
#include "engine/process/object_note.h"
#include "engine/core/latency.h"
#include "engine/core/tracer.h"
#include "engine/events/bprint.h"
#include "engine/hook/graph/graph_stack.h"
#include "engine/ring/ring.h"

static int available_tracers_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct tracer *t;
	uint32_t n = 0;

	for (t = tracer_next(NULL); t; t = tracer_next(t)) {
		if (!tracer_is_allowed(t, at->tr))
			continue;
		if (n++)
			seq_putc(s, ' ');
		seq_puts(s, t->name);
	}
	seq_putc(s, '\n');
	return 0;
}

static int current_tracer_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, trace_array_buffer(at->tr)->tracer);
	seq_putc(s, '\n');
	return 0;
}

static int current_tracer_store(const struct tree_at *at, const char *text, size_t n)
{
	return tracer_set(at->tr, text, n);
}

static uint64_t tracing_on_get(const struct tree_at *at)
{
	return (uint64_t)ring_is_on(at->tr->ring);
}

static int tracing_on_set(const struct tree_at *at, uint64_t on)
{
	tracing_set(at->tr, (int)on);
	return 0;
}

/*
 * The mount writes this file while `trace` is open with the option pause-on-trace; tracing_on does
 * not change.
 */
static uint64_t vestige_paused_get(const struct tree_at *at)
{
	return at->tr->ring->paused;
}

static int vestige_paused_set(const struct tree_at *at, uint64_t more)
{
	ring_pause(at->tr->ring, (int)more);
	return 0;
}

/* In the kernel's order; `none` is our own. */
static const struct {
	const char *name;
	uint8_t id;	  /* enum area_trace_clock */
	uint8_t by_pairs; /* readers need the rows of AREA_CLOCKS: stamps are the CPU's counter */
	int posix;	  /* >= 0: shown by its offset from CLOCK_MONOTONIC */
} clocks[] = {
	{"local", AREA_TRACE_LOCAL, 0, -1},
	{"global", AREA_TRACE_GLOBAL, 0, -1},
	{"counter", AREA_TRACE_COUNTER, 0, -1},
	{"uptime", AREA_TRACE_UPTIME, 1, -1},
	{"perf", AREA_TRACE_PERF, 0, -1},
	{"mono", AREA_TRACE_MONO, 0, -1},
	{"mono_raw", AREA_TRACE_MONO_RAW, 1, CLOCK_MONOTONIC_RAW},
	{"boot", AREA_TRACE_BOOT, 1, CLOCK_BOOTTIME},
	{"tai", AREA_TRACE_TAI, 1, CLOCK_TAI},
	{"x86-tsc", AREA_TRACE_X86_TSC, 1, -1},
	{"none", AREA_TRACE_NONE, 0, -1},
};

static int clock_is_here(uint32_t i)
{
	return !clocks[i].by_pairs || area->clock == AREA_CLOCK_TSC;
}

static int trace_clock_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		int current = trace_array_buffer(at->tr)->trace_clock == clocks[i].id;

		if (!clock_is_here(i))
			continue;
		if (i)
			seq_putc(s, ' ');
		if (current)
			seq_putc(s, '[');
		seq_puts(s, clocks[i].name);
		if (current)
			seq_putc(s, ']');
	}
	seq_putc(s, '\n');
	return 0;
}

/*
 * Armed sites lead to entry points with or without stamps, so they are armed again. Calls of
 * instances other than the top one look at their ring instead.
 */
static void use_clock(struct trace_array *tr, uint32_t i)
{
	struct area_buffer *b = trace_array_buffer(tr);
	enum ring_stamps was = trace_clock_stamps(b), now;
	char tracer[sizeof(b->tracer)];

	b->trace_clock = clocks[i].id;
	b->clock_offset_ns = clocks[i].posix >= 0 ? clock_offset(clocks[i].posix) : 0;
	now = trace_clock_stamps(b);
	if (was == now) {
		ring_clear(tr->ring, UINT32_MAX);
		return;
	}
	str_copy(tracer, sizeof(tracer), b->tracer);
	if (trace_array_is_top(tr)) {
		tracer_set(tr, "nop", 3);
		control_use_stamps(now);
	}
	ring_use_stamps(tr->ring, now);
	if (trace_array_is_top(tr))
		tracer_set(tr, tracer, strlen(tracer));
}

static int trace_clock_set(struct trace_array *tr, const char *text, size_t n)
{
	uint32_t i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		if (!clock_is_here(i) || !tree_word_is(text, n, clocks[i].name))
			continue;
		use_clock(tr, i);
		return 0;
	}
	return -EINVAL;
}

static int trace_clock_store(const struct tree_at *at, const char *text, size_t n)
{
	return trace_clock_set(at->tr, text, n);
}

/* A line of vestige_status and vestige_absent, which `vestige list -t` reads. */
#define NO_TRACER "no tracer "

static int vestige_absent_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct tracer *t;
	const char *why;

	(void)at;
	for (t = tracer_next(NULL); t; t = tracer_next(t)) {
		why = t->absent ? t->absent() : NULL;
		if (!why)
			continue;
		seq_puts(s, NO_TRACER);
		seq_puts(s, t->name);
		seq_puts(s, ": ");
		seq_puts(s, why);
		seq_putc(s, '\n');
	}
	return 0;
}

static int vestige_status_show(const struct tree_at *at, struct seq_buf *s)
{
	const char *text = area_entry(AREA_STATUS, 0);
	uint32_t i;

	(void)at;
	graph_stacks_report();
	for (i = 0; i < area->tables[AREA_STATUS].count; i++)
		seq_putc(s, text[i]);
	return 0;
}

/*
 * The names of threads stay as long as the area, so the size is the capacity of its table.
 */
static uint64_t saved_cmdlines_size_get(const struct tree_at *at)
{
	(void)at;
	return area->tables[AREA_TASKS].capacity;
}

static int saved_cmdlines_size_set(const struct tree_at *at, uint64_t v)
{
	(void)at;
	if (!v || v > 32768)
		return -EINVAL;
	return v <= area->tables[AREA_TASKS].capacity ? 0 : -ENOMEM;
}

static void put_format(void *arg, const char *format)
{
	struct seq_buf *s = arg;
	uint64_t number = bprint_number(format);
	int bit;

	seq_puts(s, "0x");
	for (bit = 60; bit >= 0; bit -= 4)
		seq_putc(s, "0123456789abcdef"[number >> bit & 15]);
	seq_puts(s, " : \"");
	for (; *format; format++) {
		switch (*format) {
		case '\n':
			seq_puts(s, "\\n");
			break;
		case '\t':
			seq_puts(s, "\\t");
			break;
		case '\\':
		case '"':
			seq_putc(s, '\\');
			seq_putc(s, *format);
			break;
		default:
			seq_putc(s, *format);
		}
	}
	seq_puts(s, "\"\n");
}

/*
 * printk_formats: the formats that have been printed, also by unloaded objects; then the
 * other formats of loaded objects.
 */
static void put_unprinted(void *arg, const char *format)
{
	if (!bprint_is_known(bprint_number(format)))
		put_format(arg, format);
}

static int printk_formats_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct area_table *t = AREA_TABLE(area, AREA_PRINTKS);
	uint32_t i;

	(void)at;
	for (i = 0; i < t->count; i++) {
		const struct area_printk *row = area_entry(AREA_PRINTKS, i);

		put_format(s, area_entry(AREA_FORMATS, row->text));
	}
	printk_formats_each(put_unprinted, s);
	return 0;
}

static uint64_t tracing_max_latency_get(const struct tree_at *at)
{
	return at->tr->max_latency_ns / 1000;
}

static int tracing_max_latency_set(const struct tree_at *at, uint64_t us)
{
	latency_set_max(at->tr, us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX);
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"available_tracers", 0444, .show = available_tracers_show,
	 .help = "what current_tracer can be"},
	{"current_tracer", 0644, .show = current_tracer_show, .word = current_tracer_store,
	 .help = "which tracer records; a change empties the buffer"},
	{"tracing_on", 0644, .type = TREE_SWITCH, .get = tracing_on_get, .set = tracing_on_set,
	 .help = "1: the buffer takes records, 0: it takes none"},
	{"tracing_enabled", 0644, .scope = TREE_GLOBAL, .type = TREE_SWITCH,
	 .get = tracing_on_get, .set = tracing_on_set,
	 .help = "tracing_on, by its oldest name"},
	{"tracing_max_latency", 0644,
	 .get = tracing_max_latency_get, .set = tracing_max_latency_set,
	 .help = "us: the longest latency so far; of latency tracers"},
	{"trace_clock", 0644, .show = trace_clock_show, .word = trace_clock_store,
	 .help = "what the time stamps are; a change empties the buffer"},
	{"printk_formats", 0444, .scope = TREE_GLOBAL, .unmirrored = 1, .show = printk_formats_show,
	 .help = "the constant formats of trace_printk() and texts of trace_puts(), by address"},
	{"saved_cmdlines_size", 0644, .scope = TREE_GLOBAL,
	 .get = saved_cmdlines_size_get, .set = saved_cmdlines_size_set,
	 .help = "for how many threads there is room in saved_cmdlines"},
	{"saved_cmdlines", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "names of threads by id"},
	{"saved_tgids", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "processes of threads by id, once the option record-tgid was on"},
	{"vestige_status", 0444, .scope = TREE_GLOBAL, .unmirrored = 1, .show = vestige_status_show,
	 .help = "what is refused in this process, and why"},
	{"vestige_absent", 0444, .scope = TREE_GLOBAL, .unmirrored = 1, .show = vestige_absent_show,
	 .help = "tracers that this process or machine cannot have, and why"},
	{"vestige_paused", 0644, .type = TREE_BOOL,
	 .get = vestige_paused_get, .set = vestige_paused_set,
	 .help = "how many want that nothing is recorded for now (option pause-on-trace); write 1 for one "
		"more, 0 for one less"},
};
/* clang-format on */
TREE_FILES(rows);

static void say_absent(const struct tracer *t)
{
	char what[64];
	struct seq_buf s;

	seq_init(&s, what, sizeof(what) - 1);
	seq_puts(&s, NO_TRACER);
	seq_puts(&s, t->name);
	what[s.len] = '\0';
	area_status(what, t->absent(), 0);
}

static void start(const struct lifecycle_start *how)
{
	const struct tracer *t;

	(void)how;
	hists_set_clock_by(trace_clock_set);
	for (t = tracer_next(NULL); t; t = tracer_next(t))
		if (t->absent && !t->absent_by_machine && t->absent())
			say_absent(t);
}

LIFECYCLE(LIFECYCLE_CORE, start, NULL, NULL);
