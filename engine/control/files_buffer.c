/* SPDX-License-Identifier: MIT */
/*
 * The files of the buffer: its size, and `trace`, which the outside prints and which is emptied
 * here. A size is for each CPU the bytes of its pages, heads included; what is asked for is rounded
 * up to whole pages, and to the least with which a CPU can record. Any thread; nothing for fork.
 * Tests: tests/engine/fire/control, tests/engine/fire/resize.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/core/area.h"
#include "engine/core/options.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring.h"

#define PAGE_KB	      (PAGE_BYTES / 1024)
#define MAX_SUBBUF_KB 512u

static uint64_t cpu_kb(const struct trace_array *tr, uint32_t cpu)
{
	return (uint64_t)tr->ring->cpus[cpu].nr_pages * PAGE_KB;
}

static int resize_cpu(const struct trace_array *tr, uint32_t cpu, uint32_t pages)
{
	int err = area_cpu_reach(trace_array_area(tr), cpu, pages);

	return err ? err : ring_resize(tr->ring, cpu, pages);
}

int buffer_size_kb_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t kb, pages;
	uint32_t cpu;
	int err = tree_number(text, n, &kb);

	(void)truncate;
	if (!err && !kb)
		err = -EINVAL;
	if (err)
		return err;
	pages = kb / PAGE_KB + (kb % PAGE_KB != 0);
	if (pages > UINT32_MAX)
		return -ENOMEM;
	if (pages < RING_MIN_PAGES)
		pages = RING_MIN_PAGES;
	for (cpu = 0; cpu < area->nr_cpus && !err; cpu++)
		if (at->cpu == UINT32_MAX || at->cpu == cpu)
			err = resize_cpu(at->tr, cpu, (uint32_t)pages);
	return err;
}

/* `X` where the CPUs differ, as the kernel has it. */
int buffer_size_kb_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t cpu = at->cpu == UINT32_MAX ? 0 : at->cpu, i;

	for (i = 1; at->cpu == UINT32_MAX && i < area->nr_cpus; i++) {
		if (cpu_kb(at->tr, i) != cpu_kb(at->tr, 0)) {
			seq_puts(s, "X\n");
			return 0;
		}
	}
	seq_putu(s, cpu_kb(at->tr, cpu));
	seq_putc(s, '\n');
	return 0;
}

int buffer_total_size_kb_show(const struct tree_at *at, struct seq_buf *s)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < area->nr_cpus; i++)
		sum += cpu_kb(at->tr, i);
	seq_putu(s, sum);
	seq_putc(s, '\n');
	return 0;
}

int buffer_percent_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_putu(s, trace_array_buffer(at->tr)->buffer_percent);
	seq_putc(s, '\n');
	return 0;
}

int buffer_percent_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)truncate;
	if (!err && v > 100)
		err = -EINVAL;
	if (!err)
		trace_array_buffer(at->tr)->buffer_percent = (uint32_t)v;
	return err;
}

/*
 * Sub-buffers are made of the ring's pages when trace_pipe_raw is read, so their size is a word to the
 * outside. As in the kernel: whole powers of two of its pages, and the buffer is emptied.
 */
int buffer_subbuf_size_kb_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_putu(s, trace_array_subbuf_kb(at->tr));
	seq_putc(s, '\n');
	return 0;
}

int buffer_subbuf_size_kb_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint32_t kb = PAGE_KB;
	uint64_t v;
	int err = tree_number(text, n, &v);

	(void)truncate;
	if (!err && (!v || v > MAX_SUBBUF_KB))
		err = -EINVAL;
	if (err)
		return err;
	while (kb < v)
		kb *= 2;
	if (kb == trace_array_subbuf_kb(at->tr))
		return 0;
	trace_array_buffer(at->tr)->subbuf_kb = kb;
	ring_clear(at->tr->ring, UINT32_MAX);
	return 0;
}

/* The kernel waits for the close. What is written does not count. */
int free_buffer_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint32_t cpu;
	int err = 0;

	(void)text;
	(void)n;
	(void)truncate;
	if (option_is_on(at->tr, AREA_OPTION_DISABLE_ON_FREE))
		tracing_set(at->tr, 0);
	for (cpu = 0; cpu < area->nr_cpus && !err; cpu++)
		err = resize_cpu(at->tr, cpu, RING_MIN_PAGES);
	return err;
}

/* The outside makes the kernel's pages so. */
int timestamp_mode_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, at->tr->nr_hists_of_time ? "delta [absolute]\n" : "[delta] absolute\n");
	return 0;
}

int trace_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)text;
	(void)n;
	if (truncate)
		ring_clear(at->tr->ring, at->cpu);
	return 0;
}
