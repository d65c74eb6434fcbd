/* SPDX-License-Identifier: MIT */
/* Texts, fields and sources of records of libvestige-trace. Tests: tests/cli/test_script.py. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/api/trace_impl.h"
#include "tools/base/fail.h"
#include "tools/code/srcline.h"
#include "tools/text/other_text.h"
#include "tools/text/event_field.h"
#include "tools/text/value_text.h"

void trace_text_forget(struct vestige_trace *t)
{
	other_text_free(t->other);
	srcline_free(t->lines);
	if (t->out.buf)
		out_end(&t->out);
	t->other = NULL;
	t->lines = NULL;
	t->out = (struct out){0};
}

/* Make room for @bytes more in t->text, and a NUL. */
static int make_room(struct vestige_trace *t, size_t bytes)
{
	size_t room = t->room_text ? t->room_text : 256;
	char *more;

	while (room <= t->nr_text + bytes)
		room *= 2;
	more = room > t->room_text ? realloc(t->text, room) : t->text;
	if (!more)
		return -ENOMEM;
	t->text = more;
	t->room_text = room > t->room_text ? room : t->room_text;
	return 0;
}

static int keep(void *arg, const char *text, size_t bytes)
{
	struct vestige_trace *t = arg;
	int err = make_room(t, bytes);

	if (err)
		return err;
	memcpy(t->text + t->nr_text, text, bytes);
	t->nr_text += bytes;
	return 0;
}

static void put_values(struct vestige_trace *t, const struct trace_item *item)
{
	const struct record *rec = &item->rec;

	if (!item->has_rec || !t->v.values)
		return;
	if (item->kind == VESTIGE_TRACE_CALL) {
		if (rec->graph & RECORD_GRAPH_RETVAL &&
		    !value_text_is_void(t->v.values, item->call.ip))
			value_text_result(t->v.values, &t->out, item->call.ip, rec->retval, false);
	} else if (rec->graph & RECORD_GRAPH_ARGS) {
		value_text_args(t->v.values, &t->out, rec->ip, rec->args);
	}
}

static const char *no_memory(void)
{
	errno = -fail(ENOMEM, "out of memory");
	return NULL;
}

const char *vestige_trace_text(struct vestige_trace *t)
{
	const char *name, *text;

	if (!t->item)
		return "";
	if (t->item->kind & (VESTIGE_TRACE_EVENT | VESTIGE_TRACE_PRINT)) {
		if (!t->other)
			t->other = other_text_new(t->v.r);
		if (!t->other || other_text_take(t->other, &t->item->rec, &name, &text))
			return no_memory();
		return text;
	}
	if (!t->out.buf && out_init_sink(&t->out, keep, t))
		return no_memory();
	t->nr_text = 0;
	put_values(t, t->item);
	out_flush(&t->out);
	if (t->out.err || make_room(t, 0))
		return no_memory();
	t->text[t->nr_text] = '\0';
	return t->text;
}

static struct tep_event *event_of(const struct vestige_trace *t)
{
	if (!t->item || t->item->kind != VESTIGE_TRACE_EVENT || !t->v.r->tep)
		return NULL;
	return tep_find_event(t->v.r->tep, t->item->rec.event);
}

/* Copy a string: in the record it may have no NUL. */
static const struct vestige_trace_field *make_string(struct vestige_trace *t, const char *data,
						     size_t bytes)
{
	struct vestige_trace_field *to = &t->field;

	bytes = strnlen(data, bytes);
	t->nr_text = 0;
	if (make_room(t, bytes)) {
		no_memory();
		return NULL;
	}
	memcpy(t->text, data, bytes);
	t->text[bytes] = '\0';
	to->type = VESTIGE_TRACE_STRING;
	to->data = t->text;
	to->bytes = (uint32_t)bytes;
	return to;
}

static uint64_t extend_sign(uint64_t v, size_t bytes)
{
	unsigned int up = 64 - 8 * (unsigned int)bytes;

	return (uint64_t)((int64_t)(v << up) >> up);
}

static const struct vestige_trace_field *
make_field(struct vestige_trace *t, const struct tep_event *ev, const struct tep_format_field *f)
{
	struct vestige_trace_field *to = &t->field;
	const char *data;
	size_t bytes = event_field_data(ev, f, &t->item->rec, &data);

	*to = (struct vestige_trace_field){.name = f->name, .bytes = (uint32_t)bytes};
	to->is_pointer = f->flags & TEP_FIELD_IS_POINTER ? 1 : 0;
	if (f->flags & TEP_FIELD_IS_STRING)
		return make_string(t, data, bytes);
	if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) ||
	    !event_field_number_bytes(f->size)) {
		to->type = VESTIGE_TRACE_ARRAY;
		to->data = data;
		to->element_bytes =
			f->flags & TEP_FIELD_IS_ARRAY
				? (uint32_t)event_field_number_bytes((int)f->elementsize)
				: 0;
		if (!to->element_bytes)
			to->element_bytes = 1;
		return to;
	}
	to->type = f->flags & TEP_FIELD_IS_SIGNED ? VESTIGE_TRACE_SIGNED : VESTIGE_TRACE_UNSIGNED;
	to->data = data;
	to->number = bytes ? tep_read_number(ev->tep, data, f->size) : 0;
	if (to->type == VESTIGE_TRACE_SIGNED)
		to->number = extend_sign(to->number, (size_t)f->size);
	return to;
}

const struct vestige_trace_field *vestige_trace_field(struct vestige_trace *t, unsigned int i)
{
	const struct tep_event *ev = event_of(t);
	const struct tep_format_field *f = ev ? ev->format.fields : NULL;

	while (f && i--)
		f = f->next;
	return f ? make_field(t, ev, f) : NULL;
}

const struct vestige_trace_field *vestige_trace_field_find(struct vestige_trace *t,
							   const char *name)
{
	const struct tep_event *ev = event_of(t);
	const struct tep_format_field *f = ev ? ev->format.fields : NULL;

	while (f && strcmp(f->name, name))
		f = f->next;
	return f ? make_field(t, ev, f) : NULL;
}

const char *vestige_trace_source(struct vestige_trace *t, uint64_t address)
{
	if (!t->lines && t->v.r)
		t->lines = srcline_new(t->v.r->symbols);
	return t->lines ? srcline_find(t->lines, address) : NULL;
}
