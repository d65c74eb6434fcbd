/* SPDX-License-Identifier: MIT */
/*
 * See dat_swap.h. The fields of an event are from libtraceevent. Formats are untrusted, and so are
 * the offsets and sizes of fields of variable length in records. Bytes and texts are not changed,
 * nor are fields that are a struct, since formats do not describe them.
 * Tests: tests/cli/test_report_kernels.py (against trace-cmd), tests/unit/test_dat_swap.c (against
 * libtraceevent).
 */
#include "tools/dat/dat_swap.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#define NR_IDS 65536u

struct field {
	uint32_t at, bytes;
	uint32_t each;	  /* of a number; of a dynamic field, where that points */
	bool is_dynamic;  /* a word: bytes << 16 | where */
	bool is_relative; /* counted from behind the word */
	bool to_end;	  /* an array up to the record's end, whatever size the format gives it */
};

struct event {
	size_t nr;
	uint32_t number_at, args_at; /* of ftrace:bprint; 0 of others */
	struct field fields[];
};

struct dat_swap {
	const struct printks *printks;
	unsigned int long_bytes;
	struct event *events[NR_IDS]; /* NULL: not known */
};

void dat_swap_numbers(unsigned char *at, uint32_t each, uint32_t nr)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	for (; nr; nr--, at += each) {
		switch (each) {
		case 2:
			memcpy(&v2, at, sizeof(v2));
			v2 = __builtin_bswap16(v2);
			memcpy(at, &v2, sizeof(v2));
			break;
		case 4:
			memcpy(&v4, at, sizeof(v4));
			v4 = __builtin_bswap32(v4);
			memcpy(at, &v4, sizeof(v4));
			break;
		case 8:
			memcpy(&v8, at, sizeof(v8));
			v8 = __builtin_bswap64(v8);
			memcpy(at, &v8, sizeof(v8));
			break;
		default:
			return;
		}
	}
}

/* The size of an element is libtraceevent's; if that is 0 or less, it is a long, as in a bitmap. */
static void add_field(struct event *e, const struct tep_format_field *f, unsigned int long_bytes)
{
	struct field *to = &e->fields[e->nr];
	bool is_array = f->flags & TEP_FIELD_IS_ARRAY;

	if (f->offset < 0 || f->size < 0)
		return;
	*to = (struct field){
		.at = (uint32_t)f->offset,
		.bytes = (uint32_t)f->size,
		.each = f->flags & TEP_FIELD_IS_STRING ? 1u
			: (int)f->elementsize > 0      ? (uint32_t)f->elementsize
						       : long_bytes,
		.is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC,
		.is_relative = f->flags & TEP_FIELD_IS_RELATIVE,
		.to_end = is_array && !(f->flags & TEP_FIELD_IS_DYNAMIC) && !f->next,
	};
	e->nr++;
}

static struct event *event_new(const struct tep_event *ev, unsigned int long_bytes)
{
	const struct tep_format_field *lists[] = {ev->format.common_fields, ev->format.fields}, *f;
	struct event *e;
	size_t nr = 0;

	for (size_t i = 0; i < 2; i++)
		for (f = lists[i]; f; f = f->next)
			nr++;
	e = calloc(1, sizeof(*e) + nr * sizeof(e->fields[0]));
	if (!e)
		return NULL;
	if (!strcmp(ev->system, "ftrace") && !strcmp(ev->name, "bprint")) {
		for (f = ev->format.fields; f; f = f->next) {
			if (!strcmp(f->name, "fmt") && f->offset > 0)
				e->number_at = (uint32_t)f->offset;
			if (!strcmp(f->name, "buf") && f->offset > 0)
				e->args_at = (uint32_t)f->offset;
		}
	}
	for (size_t i = 0; i < 2; i++)
		for (f = lists[i]; f; f = f->next)
			if (!e->args_at || (uint32_t)f->offset != e->args_at)
				add_field(e, f, long_bytes);
	return e;
}

struct dat_swap *dat_swap_new(struct tep_handle *tep, const struct printks *printks,
			      unsigned int long_bytes)
{
	struct dat_swap *s = calloc(1, sizeof(*s));
	int nr = tep_get_events_count(tep);

	if (!s)
		return NULL;
	s->printks = printks;
	s->long_bytes = long_bytes;
	for (int i = 0; i < nr; i++) {
		const struct tep_event *ev = tep_get_event(tep, i);
		struct event **to;

		if (!ev || ev->id < 0 || ev->id >= (int)NR_IDS)
			continue;
		to = &s->events[ev->id];
		free(*to);
		*to = event_new(ev, long_bytes);
		if (!*to) {
			dat_swap_free(s);
			return NULL;
		}
	}
	return s;
}

void dat_swap_free(struct dat_swap *s)
{
	for (size_t i = 0; s && i < NR_IDS; i++)
		free(s->events[i]);
	free(s);
}

/*
 * Swap an argument of @each bytes at @at; 0: it is a text. Return: the offset of the next one; 0:
 * it does not lie inside.
 */
static uint32_t swap_arg(unsigned char *data, uint32_t at, uint32_t bytes, uint32_t each)
{
	uint32_t align = each > 4 ? 4 : each;
	const unsigned char *nul;

	if (!each) {
		nul = at < bytes ? memchr(data + at, '\0', bytes - at) : NULL;
		return nul ? (uint32_t)(nul - data) + 1 : 0;
	}
	at = (at + align - 1) & ~(align - 1);
	if (at > bytes || bytes - at < each)
		return 0;
	dat_swap_numbers(data + at, each, 1);
	return at + each;
}

/*
 * The bytes of a conversion's argument; 0: a text. @p: its letter. @longs: number of l; below 0: of
 * h.
 */
static uint32_t arg_bytes(const struct dat_swap *s, const char *p, int longs)
{
	static const uint32_t shorts[] = {4, 2, 1};

	switch (*p) {
	case 's':
		return 0;
	case 'c':
		return 1;
	case 'p':
		/* values that only the kernel can print are there as text */
		return p[1] && isalnum((unsigned char)p[1]) && !strchr("SsxKe", p[1])
			       ? 0
			       : s->long_bytes;
	default:
		if (longs < 0)
			return shorts[longs < -2 ? 2 : -longs];
		return longs == 0 ? 4 : longs == 1 ? s->long_bytes : 8;
	}
}

/* The arguments of a trace_printk(), as the kernel's vbin_printf() packs them. */
static void swap_args(const struct dat_swap *s, const char *p, unsigned char *data, uint32_t at,
		      uint32_t bytes)
{
	while (at && (p = strchr(p, '%'))) {
		int longs = 0;

		for (p++; *p && strchr("-+ #0123456789.*hlLqzjt", *p); p++) {
			if (*p == '*' && at)
				at = swap_arg(data, at, bytes, 4);
			else if (*p == 'h')
				longs--;
			else if (strchr("lzjt", *p))
				longs++;
			else if (*p == 'L' || *p == 'q')
				longs = 2;
		}
		if (!*p)
			return;
		if (*p != '%' && at)
			at = swap_arg(data, at, bytes, arg_bytes(s, p, longs));
		p++;
	}
}

static void swap_field(const struct field *f, unsigned char *data, uint32_t bytes)
{
	uint64_t at = f->at, nr = f->bytes;
	uint32_t word;

	if (at > bytes || (!f->to_end && nr > bytes - at))
		return;
	if (f->to_end)
		nr = bytes - at;
	if (f->is_dynamic) {
		if (f->bytes != sizeof(word))
			return;
		dat_swap_numbers(data + at, sizeof(word), 1);
		memcpy(&word, data + at, sizeof(word));
		at = (f->is_relative ? at + sizeof(word) : 0) + (word & 0xffff);
		nr = word >> 16;
		if (at > bytes || nr > bytes - at)
			return;
	}
	dat_swap_numbers(data + at, f->each, (uint32_t)(nr / f->each));
}

void dat_swap_event(const struct dat_swap *s, uint16_t id, unsigned char *data, uint32_t bytes)
{
	const struct event *e = s->events[id];
	uint64_t number = 0;
	const char *text;

	for (size_t i = 0; e && i < e->nr; i++)
		swap_field(&e->fields[i], data, bytes);
	if (!e || !e->args_at || !e->number_at || (uint64_t)e->number_at + s->long_bytes > bytes)
		return;
	memcpy(&number, data + e->number_at, s->long_bytes);
	text = printks_find(s->printks, number);
	if (text)
		swap_args(s, text, data, e->args_at, bytes);
}
