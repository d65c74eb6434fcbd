/* SPDX-License-Identifier: MIT */
/*
 * See line_fast.h. An event's `print fmt` is converted to a list of steps if it has only numbers
 * (line_expr.h), strings, and names of values and of flags. line_plugin.h prints events that have a
 * plug-in. Formats with anything else are left to libtraceevent. line.c prints the first records of
 * an event in both ways and uses this one only if the texts are equal.
 * Tests: tests/cli/test_report.py.
 */
#include "tools/report/line_fast.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/array.h"
#include "tools/base/control_byte.h"
#include "tools/base/load_number.h"
#include "tools/report/line_expr.h"
#include "tools/report/line_plugin.h"
#include "tools/text/number.h"

enum step_kind {
	STEP_TEXT,
	STEP_DECIMAL,  /* signed, of size */
	STEP_UNSIGNED, /* decimal */
	STEP_HEX,
	STEP_POINTER,
	STEP_CHARS,  /* an array of char */
	STEP_STRING, /* of variable length */
	STEP_SYMBOL,
	STEP_FLAGS,
	STEP_CHOICE, /* one of two texts */
};

struct value_name {
	uint64_t value;
	const char *name;
};

struct step {
	enum step_kind kind;
	uint16_t offset, bytes; /* of the field; bytes 0: of expr */
	struct line_expr *expr;
	bool relative;
	uint8_t size;  /* of the number by the format's conversion */
	uint8_t width; /* the least number of digits */
	bool zeros;    /* fill with zeros */
	char *text;
	size_t text_bytes;
	struct value_name *names;
	size_t nr_names;
	const char *delim, *yes, *no;
};

struct line_fast {
	struct line_plugin *plugin; /* NULL: the text is made by the steps */
	struct step *steps;
	size_t nr, room;
	size_t most;	   /* bytes of the text, without strings of the record */
	size_t nr_strings; /* of the record */
	bool swap;
};

static struct step *step_add(struct line_fast *f, enum step_kind kind)
{
	if (ARRAY_ROOM(f->steps, f->nr, f->room, 8))
		return NULL;
	f->steps[f->nr] = (struct step){.kind = kind};
	return &f->steps[f->nr++];
}

static bool add_text(struct line_fast *f, const char *text, size_t bytes)
{
	struct step *s;

	if (!bytes)
		return true;
	s = step_add(f, STEP_TEXT);
	if (!s)
		return false;
	s->text = strndup(text, bytes);
	s->text_bytes = bytes;
	return s->text != NULL;
}

/* Set the step's number to @arg. Return: false: @arg is not supported. */
static bool take_number(struct line_fast *f, struct tep_event *ev, struct step *s,
			const struct tep_print_arg *arg)
{
	struct line_expr *e = line_expr_new(ev, arg);
	const struct line_expr *in = e;

	if (!e)
		return false;
	while (in->kind == EXPR_MASK && in->value == UINT64_MAX)
		in = in->left;
	if (in->kind == EXPR_FIELD) {
		s->offset = in->offset;
		s->bytes = in->bytes;
		line_expr_free(e);
	} else {
		s->expr = e;
	}
	return true;
}

static uint64_t value_of(const struct line_fast *f, const struct step *s, const unsigned char *data)
{
	return s->bytes ? load_number(data + s->offset, s->bytes, f->swap)
			: line_expr_value(s->expr, data, f->swap);
}

/* Names of values: only numbers, as libtraceevent reads them. */
static bool take_names(struct step *s, const struct tep_print_flag_sym *sym)
{
	size_t room = 0;

	for (; sym; sym = sym->next) {
		const char *digits = sym->value;
		char *end;
		uint64_t v;

		if (!isdigit((unsigned char)*digits))
			return false;
		v = strtoull(digits, &end, 0);
		if (*end)
			return false;
		if (ARRAY_ROOM(s->names, s->nr_names, room, 8))
			return false;
		s->names[s->nr_names++] = (struct value_name){.value = v, .name = sym->str};
	}
	return true;
}

/* Add the step for `%s` with this argument. Return: false: it is not supported. */
static bool add_string(struct line_fast *f, struct tep_event *ev, struct tep_print_arg *arg)
{
	struct tep_format_field *field;
	struct step *s;

	switch (arg->type) {
	case TEP_PRINT_FIELD:
		field = line_field(ev, arg->field.name);
		if (!field || !(field->flags & TEP_FIELD_IS_ARRAY) ||
		    !(field->flags & TEP_FIELD_IS_STRING) || field->flags & TEP_FIELD_IS_DYNAMIC ||
		    field->size <= 0)
			return false;
		s = step_add(f, STEP_CHARS);
		break;
	case TEP_PRINT_STRING:
		field = line_field(ev, arg->string.string);
		if (!field || !(field->flags & TEP_FIELD_IS_DYNAMIC) || field->size != 4)
			return false;
		s = step_add(f, STEP_STRING);
		if (s)
			s->relative = field->flags & TEP_FIELD_IS_RELATIVE;
		break;
	case TEP_PRINT_SYMBOL:
		s = step_add(f, STEP_SYMBOL);
		return s && take_number(f, ev, s, arg->symbol.field) &&
		       take_names(s, arg->symbol.symbols);
	case TEP_PRINT_FLAGS:
		s = step_add(f, STEP_FLAGS);
		if (!s)
			return false;
		s->delim = arg->flags.delim;
		return take_number(f, ev, s, arg->flags.field) && take_names(s, arg->flags.flags);
	case TEP_PRINT_OP:
		if (strcmp(arg->op.op, "?") != 0 || !arg->op.right ||
		    arg->op.right->type != TEP_PRINT_OP ||
		    arg->op.right->op.left->type != TEP_PRINT_ATOM ||
		    arg->op.right->op.right->type != TEP_PRINT_ATOM)
			return false;
		s = step_add(f, STEP_CHOICE);
		if (!s)
			return false;
		s->yes = arg->op.right->op.left->atom.atom;
		s->no = arg->op.right->op.right->atom.atom;
		return take_number(f, ev, s, arg->op.left);
	default:
		return false;
	}
	if (!s)
		return false;
	s->offset = (uint16_t)field->offset;
	s->bytes = (uint16_t)field->size;
	return true;
}

/*
 * Add the conversion at @p, behind its `%`. Return: the text behind it; NULL: it is not supported.
 */
static const char *add_conversion(struct line_fast *f, struct tep_event *ev, const char *p,
				  struct tep_print_arg *arg)
{
	unsigned int longs = 0, width = 0;
	enum step_kind kind;
	bool zeros = false;
	struct step *s;

	if (*p == '0') {
		zeros = true;
		p++;
	}
	for (; isdigit((unsigned char)*p) && width < 100; p++)
		width = width * 10 + (unsigned int)(*p - '0');
	for (; (*p == 'l' || *p == 'L') && longs < 2; p++)
		longs += *p == 'L' ? 2 : 1;
	switch (*p) {
	case 's':
		return !width && !longs && add_string(f, ev, arg) ? p + 1 : NULL;
	case 'd':
	case 'i':
		kind = STEP_DECIMAL;
		break;
	case 'u':
		kind = STEP_UNSIGNED;
		break;
	case 'x':
		kind = STEP_HEX;
		break;
	case 'p':
		if (width || longs || isalnum((unsigned char)p[1]))
			return NULL;
		kind = STEP_POINTER;
		break;
	default:
		return NULL;
	}
	if (width > 32)
		return NULL;
	s = step_add(f, kind);
	if (!s || !take_number(f, ev, s, arg))
		return NULL;
	s->size = longs || kind == STEP_POINTER ? 8 : 4;
	s->width = (uint8_t)width;
	s->zeros = zeros;
	return p + 1;
}

static bool compile(struct line_fast *f, struct tep_event *ev)
{
	const char *p = ev->print_fmt.format, *from = p;
	struct tep_print_arg *arg = ev->print_fmt.args;

	if (!p)
		return false;
	while (*p) {
		if (*p == '\\')
			return false;
		if (*p != '%') {
			p++;
			continue;
		}
		if (!add_text(f, from, (size_t)(p - from)))
			return false;
		if (p[1] == '%') {
			if (!add_text(f, "%", 1))
				return false;
			p += 2;
		} else {
			if (!arg)
				return false;
			p = add_conversion(f, ev, p + 1, arg);
			if (!p)
				return false;
			arg = arg->next;
		}
		from = p;
	}
	return add_text(f, from, (size_t)(p - from));
}

/* Add up the longest texts that the steps can make. */
static void measure(struct line_fast *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		const struct step *s = &f->steps[i];

		f->most += 128 + s->text_bytes; /* a number is shorter */
		f->most += s->yes ? strlen(s->yes) + strlen(s->no) : 0;
		for (size_t k = 0; k < s->nr_names; k++)
			f->most += strlen(s->names[k].name) + (s->delim ? strlen(s->delim) : 0);
		f->nr_strings += s->kind == STEP_CHARS || s->kind == STEP_STRING;
	}
}

struct line_fast *line_fast_new(struct tep_event *ev, const char *(*name)(void *arg, uint64_t addr),
				void *arg, bool swap)
{
	struct line_fast *f;
	bool good;

	if (ev->flags & (TEP_EVENT_FL_ISBPRINT | TEP_EVENT_FL_PRINTRAW | TEP_EVENT_FL_FAILED))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->swap = swap;
	if (ev->handler && !(ev->flags & TEP_EVENT_FL_NOHANDLE)) {
		f->plugin = line_plugin_new(ev, name, arg, swap);
		good = f->plugin != NULL;
	} else {
		good = compile(f, ev);
	}
	if (good) {
		measure(f);
		return f;
	}
	line_fast_free(f);
	return NULL;
}

void line_fast_free(struct line_fast *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++) {
		free(f->steps[i].text);
		free(f->steps[i].names);
		line_expr_free(f->steps[i].expr);
	}
	line_plugin_free(f->plugin);
	free(f->steps);
	free(f);
}

static char *put_hex(char *p, uint64_t v, unsigned int width, char fill)
{
	unsigned int digits = (67u - (unsigned int)__builtin_clzll(v | 1)) / 4;

	for (; width > digits; width--)
		*p++ = fill;
	for (unsigned int i = digits; i-- > 0;)
		*p++ = "0123456789abcdef"[v >> (4 * i) & 15];
	return p;
}

static void put_number(const struct step *s, struct out *o, uint64_t v)
{
	char *p = out_room(o, 80);
	bool minus = false;
	unsigned int n;

	switch (s->kind) {
	case STEP_POINTER:
		if (!v) {
			memcpy(p, "(nil)", 5);
			p += 5;
			break;
		}
		*p++ = '0';
		*p++ = 'x';
		p = put_hex(p, v, 0, '0');
		break;
	case STEP_HEX:
		p = put_hex(p, s->size == 4 ? (uint32_t)v : v, s->width, s->zeros ? '0' : ' ');
		break;
	default:
		if (s->size == 4)
			v = s->kind == STEP_DECIMAL ? (uint64_t)(int32_t)v : (uint32_t)v;
		if (s->kind == STEP_DECIMAL && (int64_t)v < 0) {
			minus = true;
			v = -v;
		}
		n = number_width(v) + minus;
		for (unsigned int i = n; !s->zeros && i < s->width; i++)
			*p++ = ' ';
		if (minus)
			*p++ = '-';
		for (unsigned int i = n; s->zeros && i < s->width; i++)
			*p++ = '0';
		p = number_put(p, v);
	}
	out_done(o, p);
}

static bool put_symbol(const struct step *s, struct out *o, uint64_t v)
{
	for (size_t i = 0; i < s->nr_names; i++) {
		if (s->names[i].value == v) {
			out_text(o, s->names[i].name);
			return true;
		}
	}
	return false;
}

static bool put_flags(const struct step *s, struct out *o, uint64_t v)
{
	bool any = false;

	/* without any known bit, or with unknown bits, libtraceevent prints other texts */
	if (!v)
		return false;
	for (size_t i = 0; i < s->nr_names; i++) {
		uint64_t mask = s->names[i].value;

		if (!mask || (v & mask) != mask)
			continue;
		if (any && s->delim)
			out_text(o, s->delim);
		out_text(o, s->names[i].name);
		any = true;
		v &= ~mask;
	}
	return any && !v;
}

static bool put_steps(const struct line_fast *f, struct out *o, const struct record *rec)
{
	const unsigned char *data = rec->data;

	for (size_t i = 0; i < f->nr; i++) {
		const struct step *s = &f->steps[i];
		const char *text;
		size_t n;
		uint64_t v;

		switch (s->kind) {
		case STEP_TEXT:
			out_write(o, s->text, s->text_bytes);
			break;
		case STEP_CHARS:
			if ((uint32_t)s->offset + s->bytes > rec->data_bytes)
				return false;
			text = (const char *)data + s->offset;
			n = strnlen(text, s->bytes);
			if (control_plain(text, n) < n)
				return false;
			out_write(o, text, n);
			break;
		case STEP_STRING:
			v = load_number(data + s->offset, 4, f->swap) & 0xffff;
			if (s->relative)
				v += (uint64_t)s->offset + s->bytes;
			if (v > rec->data_bytes)
				return false;
			text = (const char *)data + v;
			n = strnlen(text, rec->data_bytes - v);
			if (n == rec->data_bytes - v || control_plain(text, n) < n)
				return false;
			out_write(o, text, n);
			break;
		case STEP_SYMBOL:
			if (!put_symbol(s, o, value_of(f, s, data)))
				return false;
			break;
		case STEP_FLAGS:
			if (!put_flags(s, o, value_of(f, s, data)))
				return false;
			break;
		case STEP_CHOICE:
			out_text(o, value_of(f, s, data) ? s->yes : s->no);
			break;
		default:
			put_number(s, o, value_of(f, s, data));
		}
	}
	return true;
}

bool line_fast_put(struct line_fast *f, struct out *o, const struct record *rec)
{
	size_t used;
	bool good;

	/* in one piece, so that the text can be removed if a step fails */
	out_room(o, OUT_BYTES / 4);
	used = o->used;
	if (rec->data_bytes > OUT_BYTES / 16 ||
	    f->most + f->nr_strings * rec->data_bytes > OUT_BYTES / 4)
		return false;
	good = f->plugin ? line_plugin_put(f->plugin, o, rec) : put_steps(f, o, rec);
	if (!good)
		o->used = used;
	return good;
}
