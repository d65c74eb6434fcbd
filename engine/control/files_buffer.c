/* SPDX-License-Identifier: MIT */
/*
 * The files of the buffer: its size, and `trace` (the tools print it; a write here empties it). A
 * size is the bytes of one CPU's pages, headers included. A requested size is rounded up to whole
 * pages, and to the smallest size with which a CPU can record. Any thread; nothing for fork. Tests:
 * tests/engine/fire/control, tests/engine/fire/resize.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
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

static int buffer_size_kb_set(const struct tree_at *at, uint64_t kb)
{
	uint64_t pages = kb / PAGE_KB + (kb % PAGE_KB != 0);
	uint32_t cpu;
	int err = kb ? 0 : -EINVAL;

	if (pages > UINT32_MAX)
		return -ENOMEM;
	if (pages < RING_MIN_PAGES)
		pages = RING_MIN_PAGES;
	for (cpu = 0; cpu < area->nr_cpus && !err; cpu++)
		if (at->cpu == UINT32_MAX || at->cpu == cpu)
			err = resize_cpu(at->tr, cpu, (uint32_t)pages);
	return err;
}

/* `X` where the sizes of CPUs differ, as in the kernel. */
static int buffer_size_kb_show(const struct tree_at *at, struct seq_buf *s)
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

static uint64_t buffer_total_size_kb_get(const struct tree_at *at)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < area->nr_cpus; i++)
		sum += cpu_kb(at->tr, i);
	return sum;
}

static uint64_t buffer_percent_get(const struct tree_at *at)
{
	return trace_array_buffer(at->tr)->buffer_percent;
}

static int buffer_percent_set(const struct tree_at *at, uint64_t v)
{
	if (v > 100)
		return -EINVAL;
	trace_array_buffer(at->tr)->buffer_percent = (uint32_t)v;
	return 0;
}

/*
 * The tools make sub-buffers of the ring's pages when trace_pipe_raw is read, so only they need
 * this size. As in the kernel: whole powers of two of its pages, and the buffer is emptied.
 */
static uint64_t buffer_subbuf_size_kb_get(const struct tree_at *at)
{
	return trace_array_subbuf_kb(at->tr);
}

static int buffer_subbuf_size_kb_set(const struct tree_at *at, uint64_t v)
{
	uint32_t kb = PAGE_KB;

	if (!v || v > MAX_SUBBUF_KB)
		return -EINVAL;
	while (kb < v)
		kb *= 2;
	if (kb == trace_array_subbuf_kb(at->tr))
		return 0;
	trace_array_buffer(at->tr)->subbuf_kb = kb;
	ring_clear(at->tr->ring, UINT32_MAX);
	return 0;
}

/*
 * Where the kernel frees the buffer at close(), this frees it at a write. The text does not matter.
 */
static int free_buffer_store(const struct tree_at *at, const char *text, size_t n, int truncate)
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

/* The tools make the kernel's sub-buffers in this mode. */
static int timestamp_mode_show(const struct tree_at *at, struct seq_buf *s)
{
	seq_puts(s, at->tr->nr_hists_of_time ? "delta [absolute]\n" : "[delta] absolute\n");
	return 0;
}

static int trace_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	(void)text;
	(void)n;
	if (truncate)
		ring_clear(at->tr->ring, at->cpu);
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"trace", 0644, .kind = TREE_RENDERED, .store = trace_store,
	 .help = "what is recorded, as text; opened with O_TRUNC (echo > trace) it is emptied"},
	{"latency_trace", 0444, .scope = TREE_GLOBAL, .kind = TREE_RENDERED,
	 .help = "the same as the option latency-format prints it"},
	{"trace_pipe", 0444, .kind = TREE_RENDERED,
	 .help = "the same, consuming: what is read is gone, and when nothing is left it waits"},
	{"buffer_size_kb", 0644, .show = buffer_size_kb_show, .set = buffer_size_kb_set,
	 .help = "size of the buffer for one CPU"},
	{"buffer_size_kb", 0644, .scope = TREE_CPU,
	 .show = buffer_size_kb_show, .set = buffer_size_kb_set,
	 .help = "the same of this CPU alone"},
	{"timestamp_mode", 0444, .show = timestamp_mode_show,
	 .help = "how trace_pipe_raw stamps: each record has the time since the one before"},
	{"buffer_total_size_kb", 0444, .get = buffer_total_size_kb_get,
	 .help = "the sum over all CPUs"},
	{"buffer_percent", 0644, .get = buffer_percent_get, .set = buffer_percent_set,
	 .help = "how full the buffer is when waiting readers of trace_pipe_raw are woken"},
	{"buffer_subbuf_size_kb", 0644,
	 .get = buffer_subbuf_size_kb_get, .set = buffer_subbuf_size_kb_set,
	 .help = "size of a page of trace_pipe_raw: 4 to 512; a change empties the buffer"},
	{"free_buffer", 0200, .store = free_buffer_store,
	 .help = "a write makes the buffer as small as it can be; with the option disable_on_free "
		"tracing_on is 0 then"},
	{"trace", 0644, .scope = TREE_CPU, .kind = TREE_RENDERED, .store = trace_store,
	 .help = "what this CPU recorded"},
	{"trace_pipe", 0444, .scope = TREE_CPU, .kind = TREE_RENDERED,
	 .help = "the same, consuming"},
	{"trace_pipe_raw", 0444, .scope = TREE_CPU, .kind = TREE_RENDERED,
	 .help = "the same as the kernel's binary pages, consuming"},
	{"stats", 0444, .scope = TREE_CPU, .kind = TREE_RENDERED,
	 .help = "its counts of records and of losses"},
};
/* clang-format on */
TREE_FILES(rows);
