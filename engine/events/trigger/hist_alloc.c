/* SPDX-License-Identifier: MIT */
/*
 * See hist_alloc.h. A range is a number of whole pieces, first fit. A list in the process's own
 * memory says which are in use. AREA_HIST_ROOM has addresses for many pieces, and they are
 * inaccessible until a piece is first used, so that mlockall() gives them no memory. fork: the
 * child has the same ranges at the same places, in an area of its own, and no memory for them until
 * hist_room_again(). Tests:
 */
#include "engine/events/trigger/hist_alloc.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/arch/sys.h"
#include "engine/base/mem.h"
#include "engine/base/seqcount.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/ring/pool.h"

/* Ranges in use, sorted by place. Piece 0 is never used, so that 0 is not a place. */
struct hist_range {
	struct hist_range *next;
	uint32_t first, nr;
};

static uint32_t pieces(uint64_t bytes)
{
	return (uint32_t)((bytes + AREA_HIST_PIECE - 1) / AREA_HIST_PIECE);
}

void *hist_room_at(const struct trace_array *tr, uint64_t at)
{
	return (uint8_t *)area_entry_in(trace_array_area(tr), AREA_HIST_ROOM, 0) + at;
}

int hist_room_back(void *from, uint64_t bytes)
{
	int err;

	if (sys_is_forbidden())
		return -EPERM;
	err = sys_back(from, bytes);
	return err == -EFAULT ? -ENOSPC : err;
}

/* Make pieces accessible that were never used before. */
static int reach(struct trace_array *tr, uint32_t to)
{
	struct area_header *head = trace_array_area(tr);
	struct area_table *t = AREA_TABLE(head, AREA_HIST_ROOM);
	int err;

	if (to <= t->count)
		return 0;
	err = sys_mprotect(area_entry_in(head, AREA_HIST_ROOM, t->count),
			   (size_t)(to - t->count) * AREA_HIST_PIECE, PROT_READ | PROT_WRITE);
	if (!err)
		store_release(&t->count, to);
	return err;
}

int hist_room_get(struct trace_array *tr, uint64_t bytes, uint64_t backed, uint64_t *at)
{
	uint32_t capacity = AREA_TABLE(trace_array_area(tr), AREA_HIST_ROOM)->capacity, first = 1;
	struct hist_range **link = &tr->hist_ranges, *r;
	int err;

	if (bytes / AREA_HIST_PIECE >= capacity)
		return -ENOMEM;
	for (; *link && (*link)->first - first < pieces(bytes); link = &(*link)->next)
		first = (*link)->first + (*link)->nr;
	if (first >= capacity || capacity - first < pieces(bytes))
		return -ENOMEM;
	r = heap_alloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	*at = (uint64_t)first * AREA_HIST_PIECE;
	err = reach(tr, first + pieces(bytes));
	if (!err)
		err = sys_back(hist_room_at(tr, *at), backed);
	if (err) {
		heap_free(r);
		return err == -EFAULT ? -ENOSPC : -ENOMEM;
	}
	*r = (struct hist_range){*link, first, pieces(bytes)};
	*link = r;
	return 0;
}

int hist_room_again(struct trace_array *tr, uint64_t at, uint64_t bytes, uint64_t backed)
{
	int err = reach(tr, (uint32_t)(at / AREA_HIST_PIECE) + pieces(bytes));

	return err ? err : sys_back(hist_room_at(tr, at), backed);
}

void hist_room_put(struct trace_array *tr, uint64_t at)
{
	struct hist_range **link = &tr->hist_ranges, *r;

	while (*link && (*link)->first != at / AREA_HIST_PIECE)
		link = &(*link)->next;
	r = *link;
	if (!r)
		return;
	*link = r->next;
	/* locked memory cannot be given back, so clear it: the next user must find zeros */
	if (sys_madvise(hist_room_at(tr, at), (size_t)r->nr * AREA_HIST_PIECE, MADV_REMOVE) &&
	    !sys_back(hist_room_at(tr, at), (uint64_t)r->nr * AREA_HIST_PIECE))
		memset(hist_room_at(tr, at), 0, (size_t)r->nr * AREA_HIST_PIECE);
	heap_free(r);
}

struct area_hist *hist_room_row(struct trace_array *tr)
{
	struct area_header *head = trace_array_area(tr);
	struct area_table *t = AREA_TABLE(head, AREA_HISTS);
	struct area_hist *row;
	uint32_t i;

	for (i = 0; i < t->count; i++) {
		row = area_entry_in(head, AREA_HISTS, i);
		if (!row->event)
			return row;
	}
	if (area_reserve_in(head, AREA_HISTS, i + 1))
		return NULL;
	store_release(&t->count, i + 1);
	return area_entry_in(head, AREA_HISTS, i);
}

void hist_room_change(struct area_hist *row)
{
	write_seqcount_begin(&row->gen);
}

void hist_room_changed(struct area_hist *row)
{
	write_seqcount_end(&row->gen);
}
