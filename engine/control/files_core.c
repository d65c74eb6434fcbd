/* SPDX-License-Identifier: MIT */
/*
 * The files of the instance itself: tracer, switch, size, clock, options, status. Texts and errno
 * are the kernel's (6.12). Constructor context for stores, any thread for shows. Tests:
 * tests/engine/test_boot.py.
 */
#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring.h"

/* Blanks and the newline around a word do not count. */
static const char *trim(const char *text, size_t *n)
{
	while (*n && (*text == ' ' || *text == '\t' || *text == '\n'))
		text++, (*n)--;
	while (*n && (text[*n - 1] == ' ' || text[*n - 1] == '\t' || text[*n - 1] == '\n'))
		(*n)--;
	return text;
}

static int word_is(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(text, word, n);
}

static struct area_buffer *top_buffer(void)
{
	return area_entry(AREA_BUFFERS, 0);
}

int available_tracers_show(struct seq_buf *s)
{
	const struct tracer *t;
	uint32_t i;

	for (i = 0; (t = tracer_at(i)); i++) {
		if (i)
			seq_putc(s, ' ');
		seq_puts(s, t->name);
	}
	seq_putc(s, '\n');
	return 0;
}

int current_tracer_show(struct seq_buf *s)
{
	seq_puts(s, top_buffer()->tracer);
	seq_putc(s, '\n');
	return 0;
}

int current_tracer_store(const char *text, size_t n, int truncate)
{
	(void)truncate;
	text = trim(text, &n);
	return tracer_set(&global_trace, text, n);
}

int tracing_on_show(struct seq_buf *s)
{
	seq_puts(s, ring_is_on() ? "1\n" : "0\n");
	return 0;
}

int tracing_on_store(const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err;

	(void)truncate;
	text = trim(text, &n);
	err = str_to_u64(text, n, &v);
	if (!err)
		tracing_set(&global_trace, v != 0);
	return err;
}

static uint64_t cpu_kb(void)
{
	const struct area_cpu *row = area_entry(AREA_CPUS, 0);

	return (uint64_t)row->nr_pages * PAGE_BYTES / 1024;
}

int buffer_size_kb_show(struct seq_buf *s)
{
	seq_putu(s, cpu_kb());
	seq_putc(s, '\n');
	return 0;
}

int buffer_total_size_kb_show(struct seq_buf *s)
{
	seq_putu(s, cpu_kb() * area->nr_cpus);
	seq_putc(s, '\n');
	return 0;
}

int trace_clock_show(struct seq_buf *s)
{
	seq_puts(s, "[local]\n");
	return 0;
}

int trace_clock_store(const char *text, size_t n, int truncate)
{
	(void)truncate;
	text = trim(text, &n);
	return word_is(text, n, "local") ? 0 : -EINVAL;
}

int trace_options_show(struct seq_buf *s)
{
	seq_puts(s, top_buffer()->flags & AREA_BUFFER_OVERWRITE ? "overwrite\n" : "nooverwrite\n");
	return 0;
}

int trace_options_store(const char *text, size_t n, int truncate)
{
	(void)truncate;
	text = trim(text, &n);
	if (word_is(text, n, "overwrite"))
		top_buffer()->flags |= AREA_BUFFER_OVERWRITE;
	else if (word_is(text, n, "nooverwrite"))
		top_buffer()->flags &= ~(uint32_t)AREA_BUFFER_OVERWRITE;
	else
		return -EINVAL;
	return 0;
}

int vestige_status_show(struct seq_buf *s)
{
	const char *text = area_entry(AREA_STATUS, 0);
	uint32_t i;

	for (i = 0; i < area->tables[AREA_STATUS].count; i++)
		seq_putc(s, text[i]);
	return 0;
}
