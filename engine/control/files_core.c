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
#include "engine/core/tracer.h"
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

/* By enum area_trace_clock; from boot on they need the counter, and pairs of clocks. */
static const char *const clocks[] = {"local", "global", "mono", "boot", "tai", "x86-tsc", "none"};

static uint32_t nr_clocks(void)
{
	return area->clock == AREA_CLOCK_TSC ? ARRAY_SIZE(clocks) : AREA_TRACE_BOOT;
}

int trace_clock_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t i;

	for (i = 0; i < nr_clocks(); i++) {
		int current = trace_array_buffer(at->tr)->trace_clock == i;

		if (i)
			seq_putc(s, ' ');
		if (current)
			seq_putc(s, '[');
		seq_puts(s, clocks[i]);
		if (current)
			seq_putc(s, ']');
	}
	seq_putc(s, '\n');
	return 0;
}

/*
 * What the top instance has armed leads to entry points that stamp, or to others: it is armed anew. The
 * records of others are written in C.
 */
static void use_stamps(struct trace_array *tr, int stamps)
{
	char tracer[sizeof(trace_array_buffer(tr)->tracer)];

	if (!trace_array_is_top(tr)) {
		tr->ring->no_stamps = !stamps;
		return;
	}
	str_copy(tracer, sizeof(tracer), trace_array_buffer(tr)->tracer);
	tracer_set(tr, "nop", 3);
	control_use_stamps(stamps);
	tracer_set(tr, tracer, strlen(tracer));
}

int trace_clock_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	struct area_buffer *b = trace_array_buffer(at->tr);
	uint32_t i;

	(void)truncate;
	text = tree_trim(text, &n);
	for (i = 0; i < nr_clocks(); i++) {
		if (!tree_word_is(text, n, clocks[i]))
			continue;
		if ((i == AREA_TRACE_NONE) != (b->trace_clock == AREA_TRACE_NONE))
			use_stamps(at->tr, i != AREA_TRACE_NONE);
		b->trace_clock = i;
		b->clock_offset_ns = i == AREA_TRACE_BOOT  ? clock_offset(CLOCK_BOOTTIME)
				     : i == AREA_TRACE_TAI ? clock_offset(CLOCK_TAI)
							   : 0;
		ring_clear(at->tr->ring, UINT32_MAX);
		return 0;
	}
	return -EINVAL;
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
