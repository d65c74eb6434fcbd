/* SPDX-License-Identifier: MIT */
/*
 * Events that the engine itself makes and that are the kernel's own (system ftrace): they are not
 * switched on, but their records need a format to be read by. Normal context. fork: the rows are copied
 * (area_fork). Tests: tests/engine/fire/control.
 */
#include "engine/core/describe.h"

#include "arch_barrier.h"
#include "engine/base/mem.h"
#include "engine/core/area.h"
#include "engine/core/trace_array.h"

int describe_event(const char *system, const char *name, const char *format, uint16_t id)
{
	struct area_table *formats = &area->tables[AREA_FORMATS];
	struct area_table *rows = &area->tables[AREA_EVENTS];
	uint32_t at = formats->count, bytes = (uint32_t)strlen(format) + 1;
	struct area_event *row;
	int err = area_reserve(AREA_FORMATS, at + bytes);

	if (!err)
		err = area_reserve(AREA_EVENTS, rows->count + 1);
	if (err)
		return err;
	memcpy(area_entry(AREA_FORMATS, at), format, bytes);
	store_release(&formats->count, at + bytes);
	row = area_entry(AREA_EVENTS, rows->count);
	row->system = area_string(system);
	row->name = area_string(name);
	row->format = at;
	row->format_bytes = bytes - 1;
	row->id = id;
	store_release(&rows->count, rows->count + 1);
	trace_arrays_sync();
	return 0;
}
