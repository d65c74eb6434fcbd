/* SPDX-License-Identifier: MIT */
/* See blk_line.h. Tests: tests/cli/test_blk.py. */
#include "tools/blk/blk_line.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"

/* Actions that can have a format. */
static const char with_format[] = "ABCDFGIMPQRSTUWX";
#define NSEC_PER_SEC 1000000000u
#define WIDTH_MAX    1000

/* Check that a backslash comes only before b, n, r or t. */
static int check_format(const char *format)
{
	for (const char *p = format; (p = strchr(p, '\\')); p += 2)
		if (!p[1] || !strchr("bnrt", p[1]))
			return fail(EINVAL, "a format's \\%c: there are \\b, \\n, \\r and \\t",
				    p[1]);
	return 0;
}

int blk_formats_all(struct blk_formats *f, const char *format)
{
	int err = check_format(format);

	for (const char *p = with_format; *p && !err; p++)
		if (!f->of[(int)*p] && !(f->of[(int)*p] = strdup(format)))
			err = fail(ENOMEM, "out of memory for a format");
	return err;
}

int blk_formats_one(struct blk_formats *f, const char *spec)
{
	char **to;
	int err;

	if (!*spec || !strchr(with_format, *spec) || spec[1] != ',')
		return fail(EINVAL, "not an action's letter, a comma and a format, as Q,%%S: %s",
			    spec);
	err = check_format(spec + 2);
	if (err)
		return err;
	to = &f->of[(int)*spec];
	free(*to);
	*to = strdup(spec + 2);
	return *to ? 0 : fail(ENOMEM, "out of memory for a format");
}

void blk_formats_free(struct blk_formats *f)
{
	for (size_t i = 0; i < sizeof(f->of) / sizeof(*f->of); i++)
		free(f->of[i]);
}

static const char *name_of(const struct blk_line *l)
{
	return l->name ? l->name : "(null)";
}

/* The payload in hexadecimal; zeros at the end as "00 ..". */
static void put_pdu(struct out *o, const struct blk_record *r)
{
	unsigned int used = r->pdu_bytes;

	while (used && !r->pdu[used - 1])
		used--;
	for (unsigned int i = 0; i < r->pdu_bytes; i++) {
		out_printf(o, i ? " %02x" : "%02x", r->pdu[i]);
		if (i >= used) {
			out_text(o, " ..");
			break;
		}
	}
}

static void put_device(struct out *o, uint32_t device)
{
	out_printf(o, "%3u,%-3u", BLK_MAJOR(device), BLK_MINOR(device));
}

static void put_clock(struct out *o, int width, const struct blk_record *r,
		      const struct blk_line *l)
{
	uint64_t ns = (uint64_t)l->start.tv_nsec + r->e.time_ns;
	time_t sec = l->start.tv_sec + (time_t)(ns / NSEC_PER_SEC);
	char text[64];
	struct tm tm = {0};

	localtime_r(&sec, &tm);
	snprintf(text, sizeof(text), "%02d:%02d:%02d.%06u", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (unsigned int)(ns % NSEC_PER_SEC / 1000));
	out_printf(o, "%*s", width, text);
}

/* @width: negative: align left. @has_width: is a width given? */
static void put_field(struct out *o, char field, int width, bool has_width,
		      const struct blk_record *r, const struct blk_line *l)
{
	const struct blk_event *e = &r->e;
	char rwbs[BLK_RWBS_BYTES], text[32];

	switch (field) {
	case 'a':
		out_printf(o, "%*s", width, l->letters);
		return;
	case 'c':
		out_printf(o, "%*u", width, l->cpu);
		return;
	case 'C':
		out_printf(o, "%*s", width, name_of(l));
		return;
	case 'd':
		blk_rwbs(e, rwbs);
		out_printf(o, "%*s", width, rwbs);
		return;
	case 'D':
		put_device(o, e->device);
		return;
	case 'e':
		out_printf(o, "%*u", width, e->error);
		return;
	case 'g':
		snprintf(text, sizeof(text), "%x,%x", (unsigned int)r->cgroup,
			 (unsigned int)(r->cgroup >> 32));
		out_printf(o, "%*s", width, text);
		return;
	case 'M':
		out_printf(o, "%*u", width, BLK_MAJOR(e->device));
		return;
	case 'm':
		out_printf(o, "%*u", width, BLK_MINOR(e->device));
		return;
	case 'n':
		out_printf(o, "%*u", width, blk_sectors(e));
		return;
	case 'N':
		out_printf(o, "%*u", width, e->bytes);
		return;
	case 'p':
		out_printf(o, "%*u", width, e->pid);
		return;
	case 'P':
		if (l->with_pdu)
			put_pdu(o, r);
		return;
	case 's':
		out_printf(o, "%*u", width, e->sequence);
		return;
	case 'S':
		out_printf(o, "%*" PRIu64, width, e->sector);
		return;
	case 't':
		out_printf(o, "%0*u", has_width ? abs(width) : 9,
			   (unsigned int)(e->time_ns % NSEC_PER_SEC));
		return;
	case 'T':
		out_printf(o, "%*" PRIu64, width, e->time_ns / NSEC_PER_SEC);
		return;
	case 'u':
		if (l->elapsed_ns == BLK_NO_TIME)
			out_printf(o, "%*s", width, "-");
		else
			out_printf(o, "%*" PRIu64, width, l->elapsed_ns / 1000);
		return;
	case 'U':
		out_printf(o, "%*u", width, (unsigned int)blk_pdu_number(r));
		return;
	case 'z':
		put_clock(o, width, r, l);
		return;
	default:
		out_printf(o, "%*c", width, field);
		return;
	}
}

static void put_format(struct out *o, const char *p, const struct blk_record *r,
		       const struct blk_line *l)
{
	while (*p) {
		bool left = false, has_width = false;
		int width = 0;

		if (*p == '\\') {
			static const char from[] = "bnrt", to[] = "\b\n\r\t";

			out_write(o, &to[strchr(from, p[1]) - from], 1);
			p += 2;
			continue;
		}
		if (*p != '%' || p[1] == '%' || !p[1]) {
			out_write(o, p, 1);
			p += *p == '%' && p[1] ? 2 : 1;
			continue;
		}
		p++;
		if (*p == '-') {
			left = true;
			p++;
		}
		for (; isdigit((unsigned char)*p); p++) {
			has_width = true;
			if (width < WIDTH_MAX)
				width = width * 10 + *p - '0';
		}
		if (width > WIDTH_MAX)
			width = WIDTH_MAX;
		if (*p)
			put_field(o, *p++, left ? -width : width, has_width, r, l);
	}
}

/* The sectors, the time and the text in brackets. */
static void put_range(struct out *o, const struct blk_record *r, const struct blk_line *l)
{
	bool done = *l->letters == 'C' || *l->letters == 'R';
	uint32_t n = blk_sectors(&r->e);

	if (n)
		out_printf(o, "%" PRIu64 " + %u ", r->e.sector, n);
	else if (done)
		out_printf(o, "%" PRIu64 " ", r->e.sector);
	if (l->elapsed_ns != BLK_NO_TIME)
		out_printf(o, "(%8" PRIu64 ") ", l->elapsed_ns);
	if (done)
		out_printf(o, "[%u]\n", r->e.error);
	else
		out_printf(o, "[%s]\n", name_of(l));
}

/* For a passthrough request (of no file system): the bytes, the command. */
static void put_command(struct out *o, const struct blk_record *r, const struct blk_line *l)
{
	bool done = *l->letters == 'C' || *l->letters == 'R';

	if (!done)
		out_printf(o, "%u ", r->e.bytes);
	if (l->with_pdu && r->pdu_bytes) {
		out_text(o, "(");
		put_pdu(o, r);
		out_text(o, ") ");
	}
	if (done)
		out_printf(o, "[%u]\n", r->e.error);
	else
		out_printf(o, "[%s]\n", name_of(l));
}

/* The text behind the letters, and the end of the line. */
static void put_details(struct out *o, const struct blk_record *r, const struct blk_line *l)
{
	const struct blk_event *e = &r->e;
	struct blk_remap remap = {.to = e->device};

	switch (*l->letters) {
	case 'R':
	case 'C':
	case 'D':
	case 'I':
	case 'Q':
	case 'B':
		if (BLK_HAS(e, BLK_CAT_PC)) {
			put_command(o, r, l);
			break;
		}
		/* fallthrough */
	case 'M':
	case 'F':
	case 'G':
	case 'S':
		put_range(o, r, l);
		break;
	case 'U':
		out_printf(o, "[%s] %u\n", name_of(l), (unsigned int)blk_pdu_number(r));
		break;
	case 'A':
		blk_pdu_remap(r, &remap);
		out_printf(o, "%" PRIu64 " + %u <- (%u,%u) %" PRIu64 "\n", e->sector,
			   blk_sectors(e), BLK_MAJOR(remap.from), BLK_MINOR(remap.from),
			   remap.sector_from);
		break;
	case 'X':
		out_printf(o, "%" PRIu64 " / %u [%s]\n", e->sector, (unsigned int)blk_pdu_number(r),
			   name_of(l));
		break;
	case 'm':
		if (r->pdu_bytes)
			out_write(o, (const char *)r->pdu,
				  strnlen((const char *)r->pdu, r->pdu_bytes));
		out_text(o, "\n");
		break;
	default:
		out_printf(o, "[%s]\n", name_of(l));
	}
}

struct blk_line blk_line_of(const struct blk_record *r)
{
	unsigned int act = BLK_ACT(r->e.action);

	if (BLK_HAS(&r->e, BLK_CAT_NOTIFY))
		return (struct blk_line){.letters = "m", .elapsed_ns = BLK_NO_TIME};
	return (struct blk_line){
		.letters = blk_act_letters(act),
		.elapsed_ns = BLK_NO_TIME,
		.with_pdu = BLK_HAS(&r->e, BLK_CAT_PC) &&
			    (act == BLK_ISSUE || act == BLK_COMPLETE || act == BLK_INSERT),
	};
}

void blk_line_text(struct out *o, const struct blk_record *r, const struct blk_line *l)
{
	struct blk_remap remap = {.to = r->e.device};
	char rwbs[BLK_RWBS_BYTES];

	blk_rwbs(&r->e, rwbs);
	if (*l->letters == 'A')
		blk_pdu_remap(r, &remap);
	out_printf(o, "%u,%u %s ", BLK_MAJOR(remap.to), BLK_MINOR(remap.to), rwbs);
	put_details(o, r, l);
}

static void put_default(struct out *o, const struct blk_record *r, const struct blk_line *l)
{
	const struct blk_event *e = &r->e;
	struct blk_remap remap = {.to = e->device};
	char rwbs[BLK_RWBS_BYTES];

	blk_rwbs(e, rwbs);
	if (*l->letters == 'A')
		blk_pdu_remap(r, &remap);
	put_device(o, remap.to);
	out_printf(o, " %2u %8u %5" PRIu64 ".%09u %5u %2s %3s ", l->cpu, e->sequence,
		   e->time_ns / NSEC_PER_SEC, (unsigned int)(e->time_ns % NSEC_PER_SEC), e->pid,
		   l->letters, rwbs);
	put_details(o, r, l);
}

void blk_line_put(struct out *o, const struct blk_formats *f, const struct blk_record *r,
		  const struct blk_line *l)
{
	const char *format = f->of[(int)*l->letters];

	if (format)
		put_format(o, format, r, l);
	else
		put_default(o, r, l);
}
