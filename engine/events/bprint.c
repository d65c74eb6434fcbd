/* SPDX-License-Identifier: MIT */
/*
 * See bprint.h. Owns the cached data of each text, and its rows of AREA_PRINTKS. A record has the
 * arguments as the kernel packs them, so that libtraceevent reads it: words of 4 bytes, one for an
 * int and two for 8 bytes; a string with its NUL; numbers aligned to 4. Formats that libtraceevent
 * reads differently from printf() (flags other than 0, h, j, t, %c, floating point) make no bprint
 * record, and neither do texts that could become longer than the text of a print record.
 *
 * A text is identified by a hash of 59 bits. A collision is detected when the second text comes;
 * that text is always printed as text.
 *
 * Any context: no lock, libc, errno. fork: the child has its parent's cached data, and its area has
 * the rows (area_fork). Costs: bench "events". Tests: tests/engine/events/bprint.
 */
#include "engine/events/bprint.h"

#include <errno.h>

#include "arch_barrier.h"
#include "engine/base/compiler.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/text.h"
#include "engine/process/area.h"
#include "engine/core/ftrace_formats.h"
#include "engine/ring/ring_write.h"

#define NR_FORMATS  2048u
#define NR_BUCKETS  512u
#define MAX_ARGS    16u
#define MAX_TEXT    1024u /* of a format, and of the printed text */
#define MAX_NUMBER  512u  /* of a width or a precision */
#define MIN_TEXT    3u	  /* for shorter ones libtraceevent reads before their beginning */
#define HEAD_BYTES  24u	  /* head word, ip, number of the text */
#define NO_LIMIT    UINT16_MAX
#define LIMIT_GIVEN (UINT16_MAX - 1) /* the argument before it gives the limit */

enum arg_kind { ARG_INT, ARG_LONG, ARG_STAR, ARG_STRING };

struct arg {
	uint16_t kind;	/* enum arg_kind */
	uint16_t limit; /* of a string: the precision */
};

struct bprint_format {
	uint64_t number;
	uint32_t text;	  /* offset into AREA_FORMATS */
	uint16_t next;	  /* index of the next format in its bucket, + 1 */
	uint16_t id;	  /* enum ftrace_id; 0: it must be printed as text */
	uint16_t nr_args; /* 0: the text itself is printed */
	uint16_t most;	  /* greatest length of the printed text, without its strings and stars */
	struct arg args[MAX_ARGS];
};

static struct bprint_format formats[NR_FORMATS] BIG_ZEROS;
static uint32_t nr_formats;
static uint16_t buckets[NR_BUCKETS];
static const struct bprint_format unfit;

uint64_t bprint_number(const char *text)
{
	uint64_t v = HASH_BYTES_BEGIN;

	for (; *text; text++)
		v = hash_byte(v, (uint8_t)*text);
	v = hash_u64(v ^ v >> 32);
	v >>= 5;
	return v ? v : 1;
}

/* Parse a width or a precision. Return: what follows it; NULL: it is too large. */
static const char *parse_size(struct bprint_format *f, const char *p, uint32_t *v)
{
	uint64_t number;

	if (*p == '*') {
		*v = LIMIT_GIVEN;
		if (f->nr_args == MAX_ARGS)
			return NULL;
		f->args[f->nr_args++] = (struct arg){ARG_STAR, 0};
		return p + 1;
	}
	p += text_decimal(p, SIZE_MAX, &number);
	if (number > MAX_NUMBER)
		return NULL;
	*v = (uint32_t)number;
	f->most += (uint16_t)*v;
	return p;
}

/*
 * Parse one conversion. @p: behind its `%`. Return: what follows it; NULL: the format must be
 * printed as text.
 */
static const char *parse_conversion(struct bprint_format *f, const char *p)
{
	uint32_t width, limit = NO_LIMIT, longs = 0;
	const char *begin = p;
	uint16_t kind;

	while (*p == '0')
		p++;
	p = parse_size(f, p, &width);
	if (p && *p == '.')
		p = parse_size(f, p + 1, &limit);
	/* libtraceevent accepts only a single star: "%6.*s" makes it hang */
	if (!p || (width == LIMIT_GIVEN && limit != NO_LIMIT) || (limit == LIMIT_GIVEN && width))
		return NULL;
	if (*p == 'z') {
		longs = 1;
		p++;
	}
	while (*p == 'l' && longs < 2) {
		longs++;
		p++;
	}
	switch (*p) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		kind = longs ? ARG_LONG : ARG_INT;
		f->most += 22;
		break;
	case 'p':
		/* printf() does not have the kernel's extensions of %p */
		if (p != begin || is_alnum(p[1]))
			return NULL;
		kind = ARG_LONG;
		f->most += 18;
		break;
	case 's':
		if (longs)
			return NULL;
		kind = ARG_STRING;
		break;
	default:
		return NULL;
	}
	if (f->nr_args == MAX_ARGS)
		return NULL;
	f->args[f->nr_args++] = (struct arg){kind, (uint16_t)limit};
	return p + 1;
}

/* Parse a format. Return: whether bprint can have it. */
static int parse_format(struct bprint_format *f, const char *p)
{
	while (*p) {
		if (*p++ != '%') {
			f->most++;
		} else if (*p == '%') {
			f->most++;
			p++;
		} else {
			p = parse_conversion(f, p);
			if (!p)
				return 0;
		}
		if (f->most > MAX_TEXT)
			return 0;
	}
	return 1;
}

/*
 * Whether the text reads the same in printk_formats, but for a newline at its end: libtraceevent
 * replaces \t and the like in formats alone.
 */
static int is_plain(const char *p)
{
	for (; *p; p++)
		if (*p == '\t' || *p == '\\' || *p == '"' || (*p == '\n' && p[1]))
			return 0;
	return 1;
}

static int has_percent(const char *p)
{
	while (*p && *p != '%')
		p++;
	return *p;
}

/* The kind of record for a text; 0: it must be printed as text. @puts: the text is not a format. */
static enum ftrace_id record_of(const char *text, int puts)
{
	int percent = has_percent(text);
	size_t n = strlen(text);

	if (n < MIN_TEXT || n > MAX_TEXT)
		return 0;
	if (is_plain(text) && (puts || !percent))
		return FTRACE_BPUTS;
	return !puts || !percent ? FTRACE_BPRINT : 0;
}

static const struct area_printk *row_of(uint64_t number)
{
	const struct area_table *rows = AREA_TABLE(area, AREA_PRINTKS);
	uint32_t i;

	for (i = 0; i < rows->count; i++) {
		const struct area_printk *row = area_entry(AREA_PRINTKS, i);

		if (row->number == number)
			return row;
	}
	return NULL;
}

int bprint_is_known(uint64_t number)
{
	return row_of(number) != NULL;
}

/* Whether the row @at has the same number for another text. */
static int is_other(uint32_t at, const char *text)
{
	return !str_equal(area_entry(AREA_FORMATS, at), text);
}

/* Put the text into the area, unless it is there already. Return: 0, -ENOSPC. */
static int describe(struct bprint_format *f, const char *text, size_t n)
{
	struct area_table *texts = AREA_TABLE(area, AREA_FORMATS),
			  *rows = AREA_TABLE(area, AREA_PRINTKS);
	const struct area_printk *row = row_of(f->number);
	uint32_t at = texts->count;
	int err;

	if (row) {
		f->text = row->text;
		return is_other(row->text, text) ? -ENOSPC : 0;
	}
	err = area_reserve(AREA_FORMATS, at + (uint32_t)n + 1);
	if (!err)
		err = area_reserve(AREA_PRINTKS, rows->count + 1);
	if (err)
		return -ENOSPC;
	memcpy(area_entry(AREA_FORMATS, at), text, n + 1);
	__atomic_store_n(&texts->count, at + (uint32_t)n + 1, __ATOMIC_RELEASE);
	f->text = at;
	*(struct area_printk *)area_entry(AREA_PRINTKS, rows->count) =
		(struct area_printk){.number = f->number, .text = at};
	__atomic_store_n(&rows->count, rows->count + 1, __ATOMIC_RELEASE);
	trace_arrays_sync();
	return 0;
}

const struct bprint_format *bprint_format_get(const char *text, int puts)
{
	const enum ftrace_id id = record_of(text, puts);
	struct bprint_format *f = &formats[nr_formats];
	const uint64_t number = bprint_number(text);
	uint16_t *bucket = &buckets[number % NR_BUCKETS], i;

	if (!id)
		return &unfit;
	for (i = *bucket; i; i = formats[i - 1].next)
		if (formats[i - 1].number == number && formats[i - 1].id == id)
			return is_other(formats[i - 1].text, text) ? &unfit : &formats[i - 1];
	if (nr_formats == NR_FORMATS)
		return &unfit;
	*f = (struct bprint_format){.number = number, .id = (uint16_t)id, .next = *bucket};
	if ((id == FTRACE_BPRINT && !parse_format(f, text)) || ftrace_format_text(id) ||
	    describe(f, text, strlen(text)))
		return &unfit;
	*bucket = (uint16_t)++nr_formats;
	return f;
}

/* Packed arguments. */
struct packed {
	/* at: bytes of `words` in use; most: greatest length of the printed text */
	uint32_t at, most;
	uint32_t limit; /* value of the last star */
	uint64_t words[MAX_TEXT / 8 + MAX_ARGS + 1];
};

static void pack(struct packed *p, const void *value, uint32_t bytes)
{
	uint8_t *to = (uint8_t *)p->words;

	p->at = (p->at + 3) & ~3u;
	__builtin_memcpy(to + p->at, value, 4);
	if (bytes == 8)
		__builtin_memcpy(to + p->at + 4, (const uint8_t *)value + 4, 4);
	p->at += bytes;
}

/* Pack a string. Return: whether there is room. */
static int pack_string(struct packed *p, const char *s, uint32_t limit)
{
	static const char null[] = "(null)";
	uint8_t *to = (uint8_t *)p->words + p->at;
	uint32_t i, room = MAX_TEXT - min_of(p->most, MAX_TEXT);

	if (!s) {
		/* printf() prints no part of "(null)" if the precision is less */
		if (limit < sizeof(null) - 1)
			return 0;
		s = null;
	}
	for (i = 0; i < limit && s[i]; i++) {
		if (i == room)
			return 0;
		to[i] = (uint8_t)s[i];
	}
	to[i] = 0;
	p->at += i + 1;
	p->most += i;
	return 1;
}

static int pack_star(struct packed *p, int v)
{
	/* libtraceevent accepts no negative ones */
	if (v < 0 || v > (int)MAX_NUMBER)
		return 0;
	p->most += (uint32_t)v;
	p->limit = (uint32_t)v;
	pack(p, &v, sizeof(v));
	return 1;
}

static int pack_args(struct packed *p, const struct bprint_format *f, va_list *args)
{
	uint32_t i;

	for (i = 0; i < f->nr_args; i++) {
		const struct arg *a = &f->args[i];

		if (a->kind == ARG_INT) {
			int v = va_arg(*args, int);

			pack(p, &v, sizeof(v));
		} else if (a->kind == ARG_LONG) {
			long v = va_arg(*args, long);

			pack(p, &v, sizeof(v));
		} else if (a->kind == ARG_STRING) {
			const char *s = va_arg(*args, const char *);

			if (!pack_string(p, s, a->limit == LIMIT_GIVEN ? p->limit : a->limit))
				return 0;
		} else if (!pack_star(p, va_arg(*args, int))) {
			return 0;
		}
	}
	return p->most <= MAX_TEXT;
}

int bprint_record(struct trace_array *tr, const struct bprint_format *f, const void *ip,
		  va_list *args)
{
	struct ring_slot slot;
	struct packed p;
	uint32_t i, bytes;

	if (unlikely(!f->id))
		return -E2BIG;
	p.at = 0;
	p.most = f->most;
	p.limit = NO_LIMIT;
	if (f->nr_args && !pack_args(&p, f, args))
		return -E2BIG;
	/* clear the rest of the last word, which has bytes of the stack */
	for (i = p.at; i & 7; i++)
		((uint8_t *)p.words)[i] = 0;
	bytes = HEAD_BYTES + i;
	if (!ring_reserve(tr->ring, &slot, bytes))
		return -EBADF;
	slot.words[1] = (uint64_t)(uintptr_t)ip;
	slot.words[2] = f->number;
	for (i = 0; i < (bytes - HEAD_BYTES) / 8; i++)
		slot.words[3 + i] = p.words[i];
	ring_commit(&slot, RECORD_EVENT, RECORD_EVENT_ID(f->id, bytes));
	return 1;
}
