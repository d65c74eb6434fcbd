/* SPDX-License-Identifier: MIT */
/*
 * mmiotrace: a record for each read and write of the memory that mmiotrace_filter or
 * vestige_watch() names, with value, width and instruction, as the kernel's tracer prints them for
 * a device's registers. There is no physical address; the program's address is in its place. In the
 * top instance alone. fork: the child goes on. Tests: tests/engine/tracers/mmiotrace.
 */
#include "engine/tracers/mmiotrace.h"

#include <errno.h>

#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/core/ftrace_formats.h"
#include "engine/core/tracer.h"
#include "engine/ring/ring_write.h"
#include "engine/sources/region.h"

/* As the kernel numbers them (enum mm_io_opcode). */
enum { MMIO_READ = 1, MMIO_WRITE = 2, MMIO_PROBE = 3, MMIO_UNPROBE = 4 };

struct rw_record {
	uint64_t head, phys, value, pc;
	int32_t map_id;
	uint8_t opcode, width, padding[2];
};

struct map_record {
	uint64_t head, phys, virt, len;
	int32_t map_id;
	uint8_t opcode, padding[3];
};

static void note(uint32_t i, uint64_t at, uint32_t bytes, int is_write, uint64_t value, uint64_t pc)
{
	struct ring_slot slot;
	struct rw_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct rw_record *)slot.words;
	r->phys = at;
	r->value = value;
	r->pc = pc;
	r->map_id = (int32_t)i + 1;
	r->opcode = is_write ? MMIO_WRITE : MMIO_READ;
	r->width = (uint8_t)bytes;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_MMIO_RW, sizeof(*r)));
}

static void note_map(uint32_t i, const struct region *region, int on)
{
	struct ring_slot slot;
	struct map_record *r;

	if (!ring_reserve(global_trace.ring, &slot, sizeof(*r)))
		return;
	r = (struct map_record *)slot.words;
	r->phys = region->offset;
	r->virt = region->from;
	r->len = region->to - region->from;
	r->map_id = (int32_t)i + 1;
	r->opcode = on ? MMIO_PROBE : MMIO_UNPROBE;
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(FTRACE_MMIO_MAP, sizeof(*r)));
}

static void note_on(uint32_t i, const struct region *region)
{
	note_map(i, region, 1);
}

static void note_off(uint32_t i, const struct region *region)
{
	note_map(i, region, 0);
}

static struct region_listener listener = {.access = note, .map = note_map};

static int mmio_init(struct trace_array *tr)
{
	int err = ftrace_format_text(FTRACE_MMIO_RW);

	(void)tr;
	if (!err)
		err = ftrace_format_text(FTRACE_MMIO_MAP);
	if (!err)
		err = source_listen(&region_accesses, &listener.link);
	if (!err)
		region_each(note_on);
	return err;
}

static void mmio_reset(struct trace_array *tr)
{
	(void)tr;
	region_each(note_off);
	source_ignore(&region_accesses, &listener.link);
}

static const char *mmio_absent(void)
{
	return interpose_possible()
		       ? NULL
		       : "mmiotrace: a static program's handlers cannot be kept beside "
			 "ours";
}

static const struct tracer mmiotrace = {
	.name = "mmiotrace",
	.init = mmio_init,
	.reset = mmio_reset,
	.absent = mmio_absent,
};
TRACER_REGISTER(mmiotrace);

static int take_hex(const char **p, uint64_t *v)
{
	const char *at = *p;

	*v = 0;
	if (at[0] == '0' && at[1] == 'x')
		at += 2;
	for (*p = at;; at++) {
		uint32_t digit = hex_digit(*at);

		if (digit > 15 || *v >> 60)
			break;
		*v = *v << 4 | digit;
	}
	if (at == *p)
		return 0;
	*p = at;
	return 1;
}

/* Whether the text at @p is `FROM-TO`; then both numbers. */
static int is_range(const char *p, uint64_t *from, uint64_t *to)
{
	if (!take_hex(&p, from) || *p != '-')
		return 0;
	p++;
	return take_hex(&p, to) && !*p;
}

int mmio_filter_write(const char *text, size_t n)
{
	const int off = n && *text == '!';
	char name[256];
	uint64_t from, to;

	if (!n || (n == 1 && *text == '0')) {
		region_remove_all();
		return 0;
	}
	if (n - (size_t)off >= sizeof(name))
		return -EINVAL;
	str_copy(name, n - (size_t)off + 1, text + off);
	if (is_range(name, &from, &to)) {
		if (off)
			return region_remove(NULL, from);
		return to > from ? region_add(from, to - from, name, 0) : -EINVAL;
	}
	return off ? region_remove(name, 0) : region_add_named(name);
}

void mmio_filter_show(struct seq_buf *s)
{
	region_show(s);
}

int mmio_watch(const void *at, size_t bytes, const char *name)
{
	return bytes ? region_add((uint64_t)at, bytes, name ? name : "", 1)
		     : region_remove(NULL, (uint64_t)at);
}
