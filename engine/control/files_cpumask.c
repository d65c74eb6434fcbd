/* SPDX-License-Identifier: MIT */
/*
 * tracing_cpumask: on which CPUs records are made. Hexadecimal in groups of 32 bits, the highest
 * first, joined by commas, as the kernel's bitmaps; errno as the kernel's (6.12). The ring keeps
 * the CPUs that are off. Any thread; a fork's child has its parent's mask.
 * Tests: tests/engine/fire/control, tests/tracefs/test_writes.py.
 */
#include <errno.h>

#include "engine/base/bitmap.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/control/tree.h"
#include "engine/process/area.h"
#include "engine/core/trace_array.h"

static int is_on(const struct ring *r, uint32_t cpu)
{
	return cpu < RING_MAX_CPUS ? !ring_cpu_is_off(r, cpu) : 1;
}

static int tracing_cpumask_show(const struct tree_at *at, struct seq_buf *s)
{
	uint32_t nibble = (area->nr_cpus + 3) / 4, bit, v;

	while (nibble-- > 0) {
		for (v = 0, bit = 4; bit-- > 0;)
			v = v << 1 | (nibble * 4 + bit < area->nr_cpus &&
				      is_on(at->tr->ring, nibble * 4 + bit));
		seq_putc(s, "0123456789abcdef"[v]);
		if (nibble && nibble % 8 == 0)
			seq_putc(s, ',');
	}
	seq_putc(s, '\n');
	return 0;
}

/* Parse from the last digit on; @on is cleared first. */
static int parse(const char *text, size_t n, uint64_t *on)
{
	uint32_t cpu = 0, bit, in_group = 0;

	if (!n)
		return -EINVAL;
	while (n-- > 0) {
		uint32_t v = hex_digit(text[n]);

		if (text[n] == ',' && in_group) {
			cpu += (8 - in_group) * 4;
			in_group = 0;
			continue;
		}
		if (v == 16)
			return -EINVAL;
		if (in_group++ == 8)
			return -EOVERFLOW;
		for (bit = 0; bit < 4; bit++, cpu++) {
			if (!(v >> bit & 1))
				continue;
			if (cpu >= area->nr_cpus || cpu >= RING_MAX_CPUS)
				return -EOVERFLOW;
			bitmap_set(on, cpu);
		}
	}
	return in_group ? 0 : -EINVAL;
}

static int tracing_cpumask_store(const struct tree_at *at, const char *text, size_t n)
{
	uint64_t mask[RING_MAX_CPUS / 64];
	uint32_t cpu;
	int err;

	memset(mask, 0, sizeof(mask));
	err = parse(text, n, mask);
	if (err)
		return err;
	for (cpu = 0; cpu < RING_MAX_CPUS; cpu++) {
		if (cpu < area->nr_cpus)
			bitmap_flip(mask, cpu);
	}
	ring_set_cpumask(at->tr->ring, mask);
	return 0;
}

/* clang-format off */
static const struct tree_row rows[] = {
	{"tracing_cpumask", 0644, .show = tracing_cpumask_show, .word = tracing_cpumask_store,
	 .help = "the CPUs on which records are made, hexadecimal"},
};
/* clang-format on */
TREE_FILES(rows);
