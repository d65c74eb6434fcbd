/* SPDX-License-Identifier: MIT */
/*
 * See printk_text.h. The arguments lie as the kernel packs them (engine/events/bprint.c); the
 * conversions are printf()'s, each given to it alone. Formats and arguments are untrusted: an
 * unknown conversion, or one without an argument in the record, ends the text. Tests:
 * tests/unit/test_printk_text.c, tests/engine/events/bprint (against printf and trace-cmd).
 */
#include "tools/text/printk_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/reader/printks.h"

#define IP_AT	   8u
#define NUMBER_AT  16u
#define ARGS_AT	   24u
#define MAX_NUMBER 4096
#define SPEC_BYTES 32u

struct args {
	const char *data;
	uint32_t at, bytes;
};

struct text {
	char *to;
	size_t n, room; /* with its NUL */
};

/* One conversion: flags, width, precision and length as they are there. */
struct spec {
	char text[SPEC_BYTES];
	size_t n;
	int stars[2];
	unsigned int nr_stars, longs;
};

static bool take(struct args *a, void *to, uint32_t bytes)
{
	a->at = (a->at + 3) & ~3u;
	if (a->at > a->bytes || a->bytes - a->at < bytes)
		return false;
	memcpy(to, a->data + a->at, bytes);
	a->at += bytes;
	return true;
}

static const char *take_string(struct args *a)
{
	const char *s = a->data + a->at;
	size_t n;

	if (a->at >= a->bytes)
		return NULL;
	n = strnlen(s, a->bytes - a->at);
	if (n == a->bytes - a->at)
		return NULL;
	a->at += (uint32_t)n + 1;
	return s;
}

static bool add_to_spec(struct spec *s, char c)
{
	if (s->n + 1 >= SPEC_BYTES)
		return false;
	s->text[s->n++] = c;
	s->text[s->n] = '\0';
	return true;
}

static const char *parse_size(struct spec *s, struct args *a, const char *p)
{
	int v;

	if (*p == '*') {
		if (s->nr_stars == 2 || !take(a, &v, sizeof(v)) || v > MAX_NUMBER ||
		    v < -MAX_NUMBER)
			return NULL;
		s->stars[s->nr_stars++] = v;
		return add_to_spec(s, '*') ? p + 1 : NULL;
	}
	for (v = 0; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (*p - '0');
		if (v > MAX_NUMBER || !add_to_spec(s, *p))
			return NULL;
	}
	return p;
}

/* Up to the conversion's letter; NULL: it is none. @p: behind the `%`. */
static const char *parse(struct spec *s, struct args *a, const char *p)
{
	*s = (struct spec){.text = "%", .n = 1};
	for (; *p && strchr("-+ #0", *p); p++)
		if (!add_to_spec(s, *p))
			return NULL;
	p = parse_size(s, a, p);
	if (p && *p == '.')
		p = add_to_spec(s, '.') ? parse_size(s, a, p + 1) : NULL;
	if (!p)
		return NULL;
	for (; *p == 'l' || *p == 'z'; p++)
		s->longs++;
	return p;
}

/* Of snprintf(). */
static void put(struct text *t, int n)
{
	size_t left = t->room - t->n;

	if (n > 0)
		t->n += (size_t)n < left ? (size_t)n : left - 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#define PUT(t, s, v)                                                                                 \
	put((t), (s)->nr_stars == 0   ? snprintf((t)->to + (t)->n, (t)->room - (t)->n, (s)->text, v) \
		 : (s)->nr_stars == 1 ? snprintf((t)->to + (t)->n, (t)->room - (t)->n, (s)->text,    \
						 (s)->stars[0], v)                                   \
				      : snprintf((t)->to + (t)->n, (t)->room - (t)->n, (s)->text,    \
						 (s)->stars[0], (s)->stars[1], v))

static bool put_conversion(struct text *t, struct spec *s, struct args *a, char letter)
{
	const char *string;
	void *address;
	uint64_t wide;
	uint32_t word;

	switch (letter) {
	case 's':
		string = take_string(a);
		if (!string || !add_to_spec(s, 's'))
			return false;
		PUT(t, s, string);
		return true;
	case 'p':
		if (!take(a, &address, sizeof(address)) || !add_to_spec(s, 'p'))
			return false;
		PUT(t, s, address);
		return true;
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		break;
	default:
		return false;
	}
	if (s->longs) {
		if (!take(a, &wide, sizeof(wide)) || !add_to_spec(s, 'l') ||
		    !add_to_spec(s, letter))
			return false;
		PUT(t, s, wide);
	} else {
		if (!take(a, &word, sizeof(word)) || !add_to_spec(s, letter))
			return false;
		PUT(t, s, word);
	}
	return true;
}
#pragma GCC diagnostic pop

static void put_char(struct text *t, char c)
{
	if (t->n + 1 < t->room)
		t->to[t->n++] = c;
}

static void put_format(struct text *t, const char *p, struct args *a)
{
	struct spec s;

	while (*p) {
		if (*p != '%') {
			put_char(t, *p++);
			continue;
		}
		if (p[1] == '%') {
			put_char(t, '%');
			p += 2;
			continue;
		}
		p = parse(&s, a, p + 1);
		if (!p || !put_conversion(t, &s, a, *p))
			return;
		p++;
	}
}

bool printk_text_take(struct reader *r, struct record *rec, char *text)
{
	struct text t = {.to = text, .room = PRINTK_TEXT_BYTES};
	struct args a = {.data = rec->data, .at = ARGS_AT, .bytes = rec->data_bytes};
	const char *format;
	uint64_t number;

	if (rec->kind != RECORD_EVENT || !r->printks || rec->data_bytes < ARGS_AT ||
	    (rec->event != PRINTK_BPRINT_ID && rec->event != PRINTK_BPUTS_ID))
		return false;
	memcpy(&rec->ip, a.data + IP_AT, sizeof(rec->ip));
	memcpy(&number, a.data + NUMBER_AT, sizeof(number));
	format = printks_find(r->printks, number);
	if (!format && r->ops && r->ops->learn_printks) {
		r->ops->learn_printks(r, rec->process);
		format = printks_find(r->printks, number);
	}
	if (!format)
		put(&t, snprintf(t.to, t.room, "(NO FORMAT FOUND at %" PRIx64 ")", number));
	else if (rec->event == PRINTK_BPRINT_ID)
		put_format(&t, format, &a);
	else
		put(&t, snprintf(t.to, t.room, "%s", format));
	if (t.n && t.to[t.n - 1] == '\n')
		t.n--;
	rec->kind = RECORD_PRINT;
	rec->data = text;
	rec->data_bytes = (uint32_t)t.n;
	return true;
}
