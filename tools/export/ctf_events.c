/* SPDX-License-Identifier: MIT */
/* See ctf_events.h. Tests: tests/cli/test_export_ctf.py. */
#include "tools/export/ctf_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/text/event_field.h"

#define FIRST_BYTES 4096u
#define TOKEN_BYTES 256u

void ctf_put(struct ctf_bytes *b, const void *bytes, size_t nr)
{
	if (b->room - b->nr < nr) {
		size_t room = b->room ? 2 * b->room : FIRST_BYTES;
		unsigned char *more;

		while (room - b->nr < nr)
			room *= 2;
		more = realloc(b->bytes, room);
		if (!more) {
			b->err = -ENOMEM;
			return;
		}
		b->bytes = more;
		b->room = room;
	}
	if (nr)
		memcpy(b->bytes + b->nr, bytes, nr);
	b->nr += nr;
}

void ctf_put_number(struct ctf_bytes *b, uint64_t v, size_t nr)
{
	unsigned char le[8];

	for (size_t i = 0; i < nr; i++)
		le[i] = (unsigned char)(v >> 8 * i);
	ctf_put(b, le, nr);
}

void ctf_put_string(struct ctf_bytes *b, const char *text, size_t nr)
{
	ctf_put(b, text, strnlen(text, nr));
	ctf_put(b, "", 1);
}

enum shape { SHAPE_NUMBER, SHAPE_STRING, SHAPE_SEQUENCE };

static enum shape shape_of(const struct tep_format_field *f)
{
	if (f->flags & TEP_FIELD_IS_STRING)
		return SHAPE_STRING;
	if (f->flags & (TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC) ||
	    !event_field_number_bytes(f->size))
		return SHAPE_SEQUENCE;
	return SHAPE_NUMBER;
}

/* The bytes of one element of a sequence. */
static size_t element_bytes(const struct tep_format_field *f)
{
	size_t n =
		f->flags & TEP_FIELD_IS_ARRAY ? event_field_number_bytes((int)f->elementsize) : 0;

	return n ? n : 1;
}

void ctf_event_put(struct ctf_bytes *b, const struct tep_event *ev, const struct record *rec)
{
	for (const struct tep_format_field *f = ev->format.fields; f; f = f->next) {
		const char *data;
		size_t bytes = event_field_data(ev, f, rec, &data), each;

		switch (shape_of(f)) {
		case SHAPE_STRING:
			ctf_put_string(b, data, bytes);
			break;
		case SHAPE_NUMBER:
			ctf_put_number(b, bytes ? tep_read_number(ev->tep, data, f->size) : 0,
				       (size_t)f->size);
			break;
		case SHAPE_SEQUENCE:
			each = element_bytes(f);
			ctf_put_number(b, bytes / each, 4);
			for (size_t i = 0; i < bytes / each; i++)
				ctf_put_number(b,
					       tep_read_number(ev->tep, data + i * each, (int)each),
					       each);
			break;
		}
	}
}

/* Write @name as an identifier of the metadata. @number: appended, unless 0, for equal names. */
static void put_token(struct out *o, const char *name, unsigned int number)
{
	char token[TOKEN_BYTES];
	size_t n = 0;

	for (; name[n] && n < sizeof(token) - 1; n++) {
		bool is_plain = (name[n] >= 'a' && name[n] <= 'z') || name[n] == '_' ||
				(name[n] >= 'A' && name[n] <= 'Z') ||
				(name[n] >= '0' && name[n] <= '9');

		token[n] = is_plain ? name[n] : '_';
	}
	token[n] = '\0';
	out_text(o, token);
	if (number)
		out_printf(o, "_%u", number);
}

/* The number of fields before @f that have its name. Formats that are not the kernel's may. */
static unsigned int same_before(const struct tep_event *ev, const struct tep_format_field *f)
{
	unsigned int nr = 0;

	for (const struct tep_format_field *g = ev->format.fields; g != f; g = g->next)
		nr += !strcmp(g->name, f->name);
	return nr;
}

void ctf_event_declare(struct out *o, const struct tep_event *ev)
{
	for (const struct tep_format_field *f = ev->format.fields; f; f = f->next) {
		unsigned int number = same_before(ev, f);
		enum shape shape = shape_of(f);
		bool is_signed = f->flags & TEP_FIELD_IS_SIGNED;

		if (shape == SHAPE_STRING) {
			out_text(o, "\t\tstring _");
		} else if (shape == SHAPE_NUMBER) {
			out_printf(o, "\t\t%s%d_t _",
				   f->flags & TEP_FIELD_IS_POINTER ? "xint"
				   : is_signed			   ? "int"
								   : "uint",
				   8 * f->size);
		} else {
			out_text(o, "\t\tuint32_t __");
			put_token(o, f->name, number);
			out_printf(o, "_length;\n\t\t%s%zu_t _", is_signed ? "int" : "uint",
				   8 * element_bytes(f));
		}
		put_token(o, f->name, number);
		if (shape == SHAPE_SEQUENCE) {
			out_text(o, "[ __");
			put_token(o, f->name, number);
			out_text(o, "_length ]");
		}
		out_text(o, ";\n");
	}
}
