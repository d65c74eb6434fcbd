/* SPDX-License-Identifier: MIT */
/*
 * The files of the instance itself: tracer, switch, clock, status. Texts and errno
 * are the kernel's (6.12). Constructor context for stores, any thread for shows. Tests:
 * tests/engine/test_boot.py.
 */
#include <errno.h>
#include <time.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/boot.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/clock.h"
#include "engine/core/object_note.h"
#include "engine/core/tracer.h"
#include "engine/events/bprint.h"
#include "engine/hook/graph_stack.h"
#include "engine/ring/ring.h"

int available_tracers_show(const struct tree_at *at, struct seq_buf *s)
{
	const struct tracer *t;
	uint32_t i;

	(void)at;
	for (i = 0; (t = tracer_at(i)); i++) {
		if (i)
			seq_putc(s, ' ');
		seq_puts(s, t->name);
	}
	seq_putc(s, '\n');
	return 0;
}

int current_tracer_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, trace_array_buffer(at->tr)->tracer);
	seq_putc(s, '\n');
	return 0;
}

int current_tracer_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)truncate;
	text = tree_trim(text, &n);
	return tracer_set(at->tr, text, n);
}

int tracing_on_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, ring_is_on(at->tr->ring) ? "1\n" : "0\n");
	return 0;
}

int tracing_on_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err;

	(void)truncate;
	err = tree_number(text, n, &v);
	if (!err)
		tracing_set(at->tr, v != 0);
	return err;
}

/* The mount writes it while `trace` is open with the option pause-on-trace, and tracing_on stays as it is. */
int vestige_paused_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_putu(s, at->tr->ring->paused);
	seq_putc(s, '\n');
	return 0;
}

int vestige_paused_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	int more = tree_bool(text, n);

	(void)truncate;
	if (more < 0)
		return more;
	ring_pause(at->tr->ring, more);
	return 0;
}

/* In the kernel's order; `none` is ours. */
static const struct {
	const char *name;
	uint8_t id;	  /* enum area_trace_clock */
	uint8_t by_pairs; /* a reader needs pairs of clocks: the stamps are the processor's counter */
	int posix;	  /* >= 0: told as its distance from CLOCK_MONOTONIC */
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

int trace_clock_show(const struct tree_at *at, struct seq_buf *s)
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
 * What is armed leads to entry points that stamp, or to others: it is armed anew. Those of instances
 * ask their ring.
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

int trace_clock_set(struct trace_array *tr, const char *text, size_t n)
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

int trace_clock_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)truncate;
	text = tree_trim(text, &n);
	return trace_clock_set(at->tr, text, n);
}

int vestige_status_show(const struct tree_at *at, struct seq_buf *s)
{
	const char *text = area_entry(AREA_STATUS, 0);
	uint32_t i;

	(void)at;
	graph_stacks_tell();
	for (i = 0; i < area->tables[AREA_STATUS].count; i++)
		seq_putc(s, text[i]);
	return 0;
}

/* Names are kept as long as the area: there is a place for each thread that the table has room for. */
int saved_cmdlines_size_show(const struct tree_at *at, struct seq_buf *s)
{
	(void)at;
	seq_putu(s, area->tables[AREA_TASKS].capacity);
	seq_putc(s, '\n');
	return 0;
}

int saved_cmdlines_size_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)at;
	(void)truncate;
	if (err)
		return err;
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

/* Those that have been printed, whatever became of their objects, and the others of what is loaded. */
static void put_unprinted(void *arg, const char *format)
{
	if (!bprint_was_told(bprint_number(format)))
		put_format(arg, format);
}

int printk_formats_show(const struct tree_at *at, struct seq_buf *s)
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

int tracing_max_latency_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_putu(s, at->tr->max_latency_ns / 1000);
	seq_putc(s, '\n');
	return 0;
}

int tracing_max_latency_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t us;
	int err = tree_number(text, n, &us);

	(void)truncate;
	if (!err)
		at->tr->max_latency_ns = us < UINT64_MAX / 1000 ? us * 1000 : UINT64_MAX;
	return err;
}
