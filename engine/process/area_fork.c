/* SPDX-License-Identifier: MIT */
/*
 * The areas of a fork's child. Their tables begin as the parent's were at the fork. But those are
 * in shared memory, which the parent goes on to change at once: it adds rows, and switches a
 * filter's bits and a site's `enabled` together with its own text. So before the fork, under the
 * tree lock, tables whose rows change are copied into private memory; of tables that only grow the
 * length is stored. The child copies these. Costs: 16 bytes for each function and fork(), if the
 * child will have an area. Tests: tests/engine/fire/forks.
 */
#include "engine/process/area_impl.h"

#include <errno.h>

#include "engine/arch/sys.h"
#include "engine/base/compiler.h"
#include "engine/base/mem.h"
#include "engine/ring/ring.h"

static const struct {
	uint8_t id;
	uint8_t changes; /* its rows change; 0: it only grows */
} tables[] = {
	{AREA_STRINGS, 0}, {AREA_OBJECTS, 1}, {AREA_FUNCTIONS, 1}, {AREA_REFUSED, 0},
	{AREA_STATUS, 0},  {AREA_EVENTS, 0},  {AREA_FORMATS, 0},   {AREA_PROBES, 1},
	{AREA_PENDING, 1}, {AREA_PRINTKS, 0}, {AREA_HISTS, 1},	   {AREA_BUFFERS, 1},
};
#define NR_TABLES ARRAY_SIZE(tables)

/* What is kept of one area. */
struct kept {
	const struct area_header *head; /* NULL: nothing is kept */
	uint64_t session_ns;
	uint32_t count[NR_TABLES];
	/* rows of tables that change; of the others they are in the area */
	const void *rows[NR_TABLES];
	void *copy;
	uint64_t copy_bytes;
};

static struct kept kept[RING_MAX] BIG_ZEROS; /* indexed by the instance's index */

static uint64_t bytes_of(const struct kept *k, uint32_t i)
{
	const struct area_table *t = AREA_TABLE(k->head, tables[i].id);

	return (uint64_t)k->count[i] * t->entry_bytes;
}

static int keep(struct kept *k, const struct area_header *head)
{
	uint64_t at = 0;
	uint32_t i;

	*k = (struct kept){.head = head, .session_ns = head->session_ns};
	for (i = 0; i < NR_TABLES; i++) {
		const struct area_table *t = AREA_TABLE(head, tables[i].id);
		uint32_t n = __atomic_load_n(&t->count, __ATOMIC_ACQUIRE);

		/*
		 * vestige_status is written without a lock, and its count may be too large for a
		 * moment
		 */
		k->count[i] = n < t->capacity ? n : t->capacity;
		k->rows[i] = area_entry_in(head, tables[i].id, 0);
		if (tables[i].changes)
			k->copy_bytes += (bytes_of(k, i) + 15) & ~UINT64_C(15);
	}
	k->copy = sys_map_anon(k->copy_bytes);
	if (!k->copy) {
		k->head = NULL;
		return -ENOMEM;
	}
	for (i = 0; i < NR_TABLES; i++) {
		if (!tables[i].changes)
			continue;
		memcpy((uint8_t *)k->copy + at, k->rows[i], bytes_of(k, i));
		k->rows[i] = (uint8_t *)k->copy + at;
		at += (bytes_of(k, i) + 15) & ~UINT64_C(15);
	}
	return 0;
}

int area_before_fork(const struct area_header *(*area_at)(uint32_t index))
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < RING_MAX && !err; i++) {
		const struct area_header *head = area_at(i);

		/* outside of a session the child has the top instance alone */
		if (head && (!i || area->session[0]))
			err = keep(&kept[i], head);
	}
	if (err)
		area_after_fork();
	return err;
}

void area_after_fork(void)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++) {
		if (kept[i].head)
			sys_munmap(kept[i].copy, kept[i].copy_bytes);
		kept[i].head = NULL;
	}
}

static const struct kept *kept_of(const struct area_header *head)
{
	uint32_t i;

	for (i = 0; i < RING_MAX; i++)
		if (kept[i].head == head)
			return &kept[i];
	return NULL;
}

const void *area_kept_row(const struct area_header *parent, enum area_table_id id, uint32_t row)
{
	const struct kept *k = kept_of(parent);
	uint32_t i;

	for (i = 0; k && i < NR_TABLES; i++)
		if (tables[i].id == id)
			return row < k->count[i]
				       ? (const uint8_t *)k->rows[i] +
						 (uint64_t)row * AREA_TABLE(parent, id)->entry_bytes
				       : NULL;
	return NULL;
}

static void copy_buffer(const struct area_buffer *old, struct area_buffer *buffer)
{
	buffer->flags = old->flags;
	buffer->options = old->options;
	buffer->trace_clock = old->trace_clock;
	buffer->clock_offset_ns = old->clock_offset_ns;
	buffer->buffer_percent = old->buffer_percent;
	buffer->subbuf_kb = old->subbuf_kb;
	memcpy(buffer->tracer, old->tracer, sizeof(buffer->tracer));
}

void area_copy_kept(const struct area_header *from, struct area_header *to)
{
	const struct kept *k = kept_of(from);
	uint32_t i;

	if (!k)
		return;
	/* what the parent carried out when it started */
	to->session_ns = k->session_ns;
	to->func_commands = from->func_commands;
	for (i = 0; i < NR_TABLES; i++) {
		if (tables[i].id == AREA_BUFFERS)
			copy_buffer(k->rows[i], area_entry_in(to, AREA_BUFFERS, 0));
		/* histograms are copied one by one, as far as there is room */
		if (tables[i].id == AREA_BUFFERS || tables[i].id == AREA_HISTS ||
		    area_reserve_in(to, tables[i].id, k->count[i]))
			continue;
		memcpy(area_entry_in(to, tables[i].id, 0), k->rows[i], bytes_of(k, i));
		AREA_TABLE(to, tables[i].id)->count = k->count[i];
	}
}

int area_fork(struct area_header **old_area)
{
	struct area_header *parent = area;
	int err;

	area = NULL;
	/* the environment with the session's name may have moved: use the parent's copy */
	area_made.session = parent->session[0] ? parent->session : NULL;
	err = area_create(&area_made, parent);
	if (!err) {
		area_copy_kept(parent, area);
		area->state = AREA_LIVE;
		area_made.session = area->session[0] ? area->session : NULL;
	}
	*old_area = parent;
	return err;
}

void area_unmap(struct area_header *old_area, int used)
{
	if (used)
		sys_mmap(old_area, old_area->file_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	else
		sys_munmap(old_area, old_area->file_bytes);
}
