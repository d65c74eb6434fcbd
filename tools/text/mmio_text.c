/* SPDX-License-Identifier: MIT */
/*
 * See mmio_text.h. The forms are the kernel's, which Documentation/trace/mmiotrace.rst describes.
 * Tests: tests/engine/tracers/mmiotrace.
 */
#include "tools/text/mmio_text.h"

#include <inttypes.h>
#include <string.h>
#include <traceevent/event-parse.h>

enum { MMIO_READ = 1, MMIO_WRITE = 2, MMIO_PROBE = 3 };

static uint64_t number(struct tep_event *ev, const struct record *rec, const char *name)
{
	struct tep_format_field *f = tep_find_field(ev, name);
	uint64_t v = 0;

	if (f && f->size > 0 && f->offset >= 0 &&
	    (uint64_t)f->offset + (uint64_t)f->size <= rec->data_bytes)
		memcpy(&v, (const char *)rec->data + f->offset, f->size < 8 ? (size_t)f->size : 8);
	return v;
}

/* `SECONDS.MICROSECONDS ` */
static void put_time(struct out *o, const struct record *rec)
{
	uint64_t us = rec->ts / 1000 + (rec->ts % 1000 >= 500);

	out_printf(o, "%" PRIu64 ".%06" PRIu64 " ", us / 1000000, us % 1000000);
}

static void put_rw(struct out *o, struct tep_event *ev, const struct record *rec)
{
	const uint64_t opcode = number(ev, rec, "opcode");

	if (opcode == MMIO_READ || opcode == MMIO_WRITE)
		out_printf(o, "%c %" PRIu64 " ", opcode == MMIO_READ ? 'R' : 'W',
			   number(ev, rec, "width"));
	else
		out_text(o, "UNKNOWN ");
	put_time(o, rec);
	out_printf(o, "%d 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " 0\n",
		   (int)number(ev, rec, "map_id"), number(ev, rec, "phys"),
		   number(ev, rec, "value"), number(ev, rec, "pc"));
}

static void put_map(struct out *o, struct tep_event *ev, const struct record *rec)
{
	const bool on = number(ev, rec, "opcode") == MMIO_PROBE;

	out_text(o, on ? "MAP " : "UNMAP ");
	put_time(o, rec);
	out_printf(o, "%d ", (int)number(ev, rec, "map_id"));
	if (on)
		out_printf(o, "0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " ", number(ev, rec, "phys"),
			   number(ev, rec, "virt"), number(ev, rec, "len"));
	out_text(o, "0x0 0\n");
}

bool mmio_text(const struct reader *r, struct out *o, const struct record *rec)
{
	struct tep_event *ev;

	if (rec->kind == RECORD_PRINT) {
		out_text(o, "MARK ");
		put_time(o, rec);
		out_string(o, rec->data, rec->data_bytes);
		out_text(o, "\n");
		return true;
	}
	if (rec->kind != RECORD_EVENT || !r->tep)
		return false;
	ev = tep_find_event(r->tep, rec->event);
	if (!ev || strcmp(ev->system, "ftrace") != 0)
		return false;
	if (!strcmp(ev->name, "mmiotrace_rw"))
		put_rw(o, ev, rec);
	else if (!strcmp(ev->name, "mmiotrace_map"))
		put_map(o, ev, rec);
	else
		return false;
	return true;
}
