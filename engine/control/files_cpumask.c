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

static int is_divider(char c)
{
	return is_blank(c) || c == ',';
}

/*
 * Read the group of 32 bits that ends at *@end, and move *@end before it. As in the kernel a ninth
 * byte is too much if it is a digit, and else is skipped.
 */
static int take_group(const char *text, size_t *end, uint32_t *group)
{
	uint32_t v, bit;

	*group = 0;
	for (bit = 0; bit < 32; bit += 4) {
		v = hex_digit(text[--*end]);
		if (v == 16)
			return -EINVAL;
		*group |= v << bit;
		if (!*end || is_divider(text[*end - 1]))
			return 0;
	}
	return hex_digit(text[--*end]) == 16 ? 0 : -EOVERFLOW;
}

/* Parse the line from its last group on, as the kernel's bitmap_parse(); @on is cleared first. */
static int parse(const char *text, size_t n, uint64_t *on)
{
	uint32_t cpu = 0, group, bit;
	int err, beyond = 0;

	for (;; cpu += 32) {
		while (n && is_divider(text[n - 1]))
			n--;
		if (!n)
			return beyond ? -EOVERFLOW : 0;
		if (cpu >= area->nr_cpus)
			return -EOVERFLOW;
		err = take_group(text, &n, &group);
		if (err)
			return err;
		for (bit = 0; bit < 32; bit++) {
			if (!(group >> bit & 1))
				continue;
			if (cpu + bit < area->nr_cpus && cpu + bit < RING_MAX_CPUS)
				bitmap_set(on, cpu + bit);
			else
				beyond = 1;
		}
	}
}

static int tracing_cpumask_store(const struct tree_at *at, const char *text, size_t n, int truncate)
{
	uint64_t mask[RING_MAX_CPUS / 64];
	uint32_t cpu;
	int err;

	(void)truncate;
	if (!n)
		return -EINVAL;
	/* the first line alone; an empty one means no CPU */
	n = text_find(text, n, 0);
	n = text_find(text, n, '\n');
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
	{"tracing_cpumask", 0644, .nul = TREE_NUL_STAYS, .show = tracing_cpumask_show,
	 .store = tracing_cpumask_store,
	 .help = "the CPUs on which records are made, hexadecimal"},
};
/* clang-format on */
TREE_FILES(rows);
