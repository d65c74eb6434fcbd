/* SPDX-License-Identifier: MIT */
/*
 * See bprint.h. Owns the cached data of each text, and its rows of AREA_PRINTKS. A record has the
 * arguments as the kernel packs them (a word of 4 bytes each for an int, two for what has 8 bytes,
 * a string with its NUL, numbers aligned to 4), so that libtraceevent reads it. Formats that it
 * reads differently from printf() (flags other than 0, h, j, t, %c, floating point) make no bprint
 * record, nor do texts that could become longer than the text of a print record.
 *
 * A text is identified by a hash of 59 bits. A collision is detected when the second text comes,
 * which from then on is printed as text.
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
#include "engine/process/area.h"
#include "engine/core/ftrace_formats.h"
#include "engine/ring/ring_write.h"

#define NR_FORMATS  2048u
#define NR_BUCKETS  512u
#define MAX_ARGS    16u
#define MAX_TEXT    1024u /* of a format, and of what is printed */
#define MAX_NUMBER  512u  /* of a width or a precision */
#define MIN_TEXT    3u	  /* libtraceevent reads before shorter ones */
#define HEAD_BYTES  24u	  /* head word, ip, the text's number */
#define NO_LIMIT    UINT16_MAX
#define LIMIT_GIVEN (UINT16_MAX - 1) /* by the argument before it */

enum arg_kind { ARG_INT, ARG_LONG, ARG_STAR, ARG_STRING };

struct arg {
	uint16_t kind;	/* enum arg_kind */
	uint16_t limit; /* of a string: its precision */
};

struct bprint_format {
	uint64_t number;
	uint32_t text;	  /* offset into AREA_FORMATS */
	uint16_t next;	  /* of its bucket, + 1 */
	uint16_t id;	  /* enum ftrace_id; 0: it has to be text */
	uint16_t nr_args; /* 0: what is printed is the text itself */
	uint16_t most;	  /* bytes of the printed text at most, without its strings and stars */
	struct arg args[MAX_ARGS];
};

static struct bprint_format formats[NR_FORMATS];
static uint32_t nr_formats;
static uint16_t buckets[NR_BUCKETS];
static const struct bprint_format unfit;

uint64_t bprint_number(const char *text)
{
	uint64_t v = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		v = (v ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	v = hash_u64(v ^ v >> 32);
	v >>= 5;
	return v ? v : 1;
}

static const char *parse_number(const char *p, uint32_t *v)
{
	for (*v = 0; *p >= '0' && *p <= '9' && *v <= MAX_NUMBER; p++)
		*v = *v * 10 + (uint32_t)(*p - '0');
	return p;
}

static int is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A width or a precision. Return: behind it; NULL: it is too large. */
static const char *parse_size(struct bprint_format *f, const char *p, uint32_t *v)
{
	if (*p == '*') {
		*v = LIMIT_GIVEN;
		if (f->nr_args == MAX_ARGS)
			return NULL;
		f->args[f->nr_args++] = (struct arg){ARG_STAR, 0};
		return p + 1;
	}
	p = parse_number(p, v);
	if (*v > MAX_NUMBER)
		return NULL;
	f->most += (uint16_t)*v;
	return p;
}

/* One conversion. @p: behind its `%`. Return: behind it; NULL: it has to be text. */
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
	/* libtraceevent wants a star to be alone: of "%6.*s" it never comes back */
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
		/* printf() does not have the kernel's extensions */
		if (p != begin || is_word(p[1]))
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

/* Whether the text can be a format of bprint. */
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
 * Whether printk_formats' form of the text is the text, but for a newline at its end: libtraceevent
 * takes the marks \t and the like out of formats alone.
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

/* The kind of its records; 0: it has to be text. @puts: it is no format. */
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

/* Another text has the same number. */
static int is_other(uint32_t at, const char *text)
{
	return !str_equal(area_entry(AREA_FORMATS, at), text);
}

/* Put the text into the area, unless it is there. Return: 0, -ENOSPC. */
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

/* The arguments, packed. */
struct packed {
	uint32_t at, most; /* bytes here; bytes of the printed text, at most */
	uint32_t limit;	   /* the last star */
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

/* Return: whether there is room. */
static int pack_string(struct packed *p, const char *s, uint32_t limit)
{
	static const char null[] = "(null)";
	uint8_t *to = (uint8_t *)p->words + p->at;
	uint32_t i, room = MAX_TEXT - min_of(p->most, MAX_TEXT);

	if (!s) {
		/* printf() has none at all where it does not fit */
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
	/* libtraceevent takes none below 0 */
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
	/* no bytes of the stack behind them */
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
