/* SPDX-License-Identifier: MIT */
/*
 * An event's `format`, as the kernel writes it (6.12), and its copy in the area, so that the
 * records of a dead process can be read too. Names with a number from TRACE_DEFINE_ENUM() are
 * replaced by the number. Control context. Tests: tests/engine/events/.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/process/area.h"
#include "engine/events/trigger/eval.h"
#include "engine/events/event.h"

#define FORMAT_MAX_BYTES 65536u

/* Put the declaration, `T NAME` or `T NAME[N]`. */
static void put_declaration(const struct event_field *f, const char *system, struct seq_buf *s)
{
	const char *array = NULL, *p;

	/* `__data_loc T[]` is not split */
	if (!event_field_is_data_loc(f))
		for (p = f->type; *p && !array; p++)
			if (*p == '[')
				array = p;
	seq_puts(s, "\tfield:");
	if (!array) {
		seq_puts(s, f->type);
		seq_putc(s, ' ');
		seq_puts(s, f->name);
	} else {
		for (p = f->type; p < array; p++)
			seq_putc(s, *p);
		seq_putc(s, ' ');
		seq_puts(s, f->name);
		eval_put(s, system, array);
	}
	seq_putc(s, ';');
}

/*
 * Whether a field is `T NAME[]`, at the end of a record of the system ftrace: it has no size of its
 * own.
 */
static int is_open(const struct event_field *f)
{
	size_t n = strlen(f->type);

	return !event_field_is_data_loc(f) && n > 2 && str_equal(f->type + n - 2, "[]");
}

static void put_field(const struct event_field *f, const char *system, struct seq_buf *s)
{
	put_declaration(f, system, s);
	seq_puts(s, "\toffset:");
	seq_putu(s, f->offset);
	seq_puts(s, ";\tsize:");
	seq_putu(s, str_equal(system, "ftrace") && is_open(f) ? 0 : f->size);
	seq_puts(s, f->is_signed ? ";\tsigned:1;\n" : ";\tsigned:0;\n");
}

void event_format(const struct event *e, struct seq_buf *s)
{
	uint32_t i;

	seq_puts(s, "name: ");
	seq_puts(s, e->name);
	seq_puts(s, "\nID: ");
	seq_putu(s, e->id);
	seq_puts(s, "\nformat:\n"
		    "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		    "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
		    "\n");
	for (i = 0; i < e->nr_fields; i++)
		put_field(&e->fields[i], e->system, s);
	seq_puts(s, "\nprint fmt: ");
	eval_put(s, e->system, e->print_fmt);
	seq_putc(s, '\n');
}

int event_describe(struct event *e)
{
	struct area_table *formats = &area->tables[AREA_FORMATS];
	struct area_table *rows = &area->tables[AREA_EVENTS];
	uint32_t at = formats->count, room = FORMAT_MAX_BYTES;
	struct area_event *row;
	struct seq_buf s;
	int err;

	if (e->described)
		return 0;
	if (room > formats->capacity - at)
		room = formats->capacity - at;
	/* write it once into nothing to get its length, then into the area */
	seq_init(&s, NULL, 0);
	event_format(e, &s);
	if (s.lost + 1 > room)
		return -ENOSPC;
	room = (uint32_t)s.lost;
	err = area_reserve(AREA_FORMATS, at + room + 1);
	if (!err)
		err = area_reserve(AREA_EVENTS, rows->count + 1);
	if (err)
		return err;
	seq_init(&s, area_entry(AREA_FORMATS, at), room);
	event_format(e, &s);
	__atomic_store_n(&formats->count, at + room + 1, __ATOMIC_RELEASE);
	row = area_entry(AREA_EVENTS, rows->count);
	row->system = area_string(e->system);
	row->name = area_string(e->name);
	row->format = at;
	row->format_bytes = room;
	row->id = e->id;
	__atomic_store_n(&rows->count, rows->count + 1, __ATOMIC_RELEASE);
	e->described = 1;
	trace_arrays_sync();
	return 0;
}
