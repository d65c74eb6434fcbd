/* SPDX-License-Identifier: MIT */
/*
 * Events that objects define by TRACE_EVENT(). Two objects may define the same name, as when both
 * have compiled the header in. If the formats are the same, it is one event, and each object's
 * probe function is switched with it. Otherwise the second is refused, and vestige_status reports
 * it. fork: nothing. Tests: tests/engine/events/.
 */
#include <errno.h>

#include "engine/base/mem.h"
#include "engine/events/object_items.h"
#include "engine/process/area.h"
#include "engine/process/heap.h"
#include "engine/events/event.h"
#include "engine/events/event_source.h"
#include "engine/events/builtin_event.h"
#include "engine/events/tracepoint/tracepoint.h"

/* One object's definition of an event. */
struct source {
	struct source *next;
	const struct object *object;
	struct tracepoint *tp;
	void *probe;
};

#define PRIO 10

static int enable(struct event *e, struct event_file *file, int on)
{
	struct source *s, *first = e->data;
	int err = 0;

	for (s = first; s && !err; s = s->next) {
		/* the file has only one array `solo` */
		if (on)
			err = tracepoint_probe_add(s->tp, s->probe, file, PRIO, PROBE_OURS,
						   s->next ? NULL : file->solo);
		else
			tracepoint_probe_remove(s->tp, s->probe, file);
	}
	if (err)
		for (; first != s; first = first->next)
			tracepoint_probe_remove(first->tp, first->probe, file);
	return err;
}

static const struct event_class static_class = {.enable = enable};

static int same_format(const struct event *e, const struct vestige_event *def, const char *print)
{
	return event_same_fields(e, def->fields()) && str_equal(e->print_fmt, print);
}

static int ends_with(const char *s, char c)
{
	size_t n = strlen(s);

	return n && s[n - 1] == c;
}

/* The conversion of a field for an event without a print format. */
static const char *conversion(const struct vestige_event_field *f)
{
	if (str_starts(f->type, "__data_loc char") || str_starts(f->type, "char["))
		return "%s";
	if (ends_with(f->type, '*'))
		return "0x%lx";
	if (f->size == 8)
		return f->is_signed ? "%ld" : "%lu";
	return f->is_signed ? "%d" : "%u";
}

/* Make `"number=%d item=%s", REC->number, __get_str(item)`. */
static const char *default_print(const struct vestige_event_field *fields, char *text, size_t bytes)
{
	const struct vestige_event_field *f;
	struct seq_buf s;

	seq_init(&s, text, bytes - 1);
	seq_putc(&s, '"');
	for (f = fields; f->type; f++) {
		if (f > fields)
			seq_putc(&s, ' ');
		seq_puts(&s, f->name);
		seq_putc(&s, '=');
		seq_puts(&s, conversion(f));
	}
	seq_putc(&s, '"');
	for (f = fields; f->type; f++) {
		int is_part = str_starts(f->type, "__data_loc");

		seq_puts(&s, is_part ? ", __get_str(" : ", REC->");
		seq_puts(&s, f->name);
		if (is_part)
			seq_putc(&s, ')');
	}
	text[s.len] = 0;
	return text;
}

/* Add another definition of an existing event; it is switched as the event is. */
static void join(struct event *e, struct source *s)
{
	struct event_file *f;

	s->next = e->data;
	e->data = s;
	for (f = e->files; f; f = f->next)
		if (f->flags & EVENT_FILE_REGISTERED)
			tracepoint_probe_add(s->tp, s->probe, f, PRIO, PROBE_OURS, NULL);
}

/* Register an event that an object defines. */
static void static_event_add(struct vestige_event *def, const struct object *o)
{
	char text[4096];
	const char *print;
	struct source *s;
	struct event *e, *clash;

	if (def->bytes < sizeof(*def) || !def->tp || !def->probe)
		return;
	/* the loader resolved this object's definition to another object's, which is registered */
	if (def->engine)
		return;
	print = def->print_fmt ? def->print_fmt : default_print(def->fields(), text, sizeof(text));
	s = heap_alloc(sizeof(*s));
	if (!s)
		return;
	s->object = o;
	s->tp = def->tp;
	s->probe = def->probe;
	e = event_add(def->system, def->name, def->fields(), print, &static_class, s, &clash);
	if (!e && clash && (builtin_event_give_way(clash) || event_source_give_way(clash)))
		e = event_add(def->system, def->name, def->fields(), print, &static_class, s,
			      &clash);
	if (!e && clash && clash->class == &static_class && same_format(clash, def, print)) {
		e = clash;
		join(e, s);
	}
	if (e) {
		def->engine = e;
		return;
	}
	heap_free(s);
	area_status(clash ? "an event of this name has another format already"
			  : "there is no room for an event",
		    def->name, 0);
}

static void forget(const struct object_items *h)
{
	const struct object *o = h->object;
	struct event *e;

	for (e = events; e; e = e->next) {
		struct source **at = (struct source **)&e->data, *s;

		if (e->gone || e->class != &static_class)
			continue;
		while ((s = *at)) {
			if (s->object == o) {
				*at = s->next;
				heap_free(s);
			} else {
				at = &s->next;
			}
		}
		if (!e->data)
			event_gone(e);
	}
}

static void come(const struct object_items *h)
{
	const struct vestige_item *item = NULL;

	while ((item = object_items_next(h, item, VESTIGE_ITEM_EVENT)))
		static_event_add((struct vestige_event *)item->at, h->object);
}

ITEMS_READER(ITEMS_EVENTS, come, forget);
