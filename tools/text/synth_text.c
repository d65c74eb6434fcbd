/* SPDX-License-Identifier: MIT */
/*
 * See synth_text.h. The print format of these events has commas between the fields, which the
 * kernel's trace does not print, and __get_stacktrace(), which not every libtraceevent knows. So
 * each field is printed here, by its conversion. An event is synthetic if its system is the one of
 * synthetic events and its print format is `FIELD=%CONVERSION` for each field.
 *
 * Costs: nothing to other events but one comparison of names. Tests: tests/engine/events/synth.
 */
#include "tools/text/synth_text.h"

#include <string.h>

#include "tools/text/probe_text.h"

static uint64_t load(const char *data, const struct tep_format_field *f)
{
	uint64_t v = 0;

	memcpy(&v, data + f->offset, f->size < 8 ? (size_t)f->size : 8);
	return v;
}

static int64_t load_signed(const char *data, const struct tep_format_field *f)
{
	unsigned int unused = f->size < 8 ? 64 - 8 * (unsigned int)f->size : 0;

	return (int64_t)(load(data, f) << unused) >> unused;
}

/* The length of the conversion of @f at *@p, which moves behind it; 0: there is none. */
static size_t conversion_of(const char **p, const struct tep_format_field *f)
{
	const char *at = *p;
	size_t name = strlen(f->name), n;

	if (!strncmp(at, ", ", 2))
		at += 2;
	if (strncmp(at, f->name, name) != 0 || strncmp(at + name, "=%", 2) != 0)
		return 0;
	at += name + 1;
	n = strcspn(at, ",");
	*p = at + n;
	return n;
}

static bool is_synth(const struct tep_event *ev)
{
	const char *p = ev->print_fmt.format;
	const struct tep_format_field *f;

	if (strcmp(ev->system, "synthetic") != 0 || !p)
		return false;
	for (f = ev->format.fields; f; f = f->next)
		if (f->size <= 0 || !conversion_of(&p, f))
			return false;
	return !*p && ev->format.fields;
}

/* A zero ends it too. */
static void put_stack(struct out *o, const char *at, uint32_t bytes, struct symbols *s)
{
	uint64_t ip;

	out_text(o, "STACK:\n");
	for (; bytes >= sizeof(ip); at += sizeof(ip), bytes -= (uint32_t)sizeof(ip)) {
		memcpy(&ip, at, sizeof(ip));
		if (!ip)
			break;
		out_text(o, "=> ");
		place_put_sized(o, s, ip);
		out_text(o, "\n");
	}
}

static void put_value(struct out *o, const struct tep_format_field *f, const char *data,
		      const char *conversion, struct symbols *s)
{
	uint32_t location = (uint32_t)load(data, f), bytes = location >> 16;
	const char *at = data + (location & 0xffff);
	char last = conversion[strcspn(conversion, ",") - 1];

	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (strstr(f->type, "long["))
			put_stack(o, at, bytes, s);
		else
			out_string(o, at, strnlen(at, bytes));
	} else if (f->flags & TEP_FIELD_IS_ARRAY) {
		out_string(o, data + f->offset, strnlen(data + f->offset, (size_t)f->size));
	} else if (last == 'x') {
		out_printf(o, "%llx", (unsigned long long)load(data, f));
	} else if (last == 'd') {
		out_printf(o, "%lld", (long long)load_signed(data, f));
	} else {
		out_printf(o, "%llu", (unsigned long long)load(data, f));
	}
}

bool synth_text(struct out *o, const struct tep_event *ev, const char *data, struct symbols *s,
		bool verbose)
{
	const char *p = ev->print_fmt.format;
	const struct tep_format_field *f;

	if (!is_synth(ev))
		return false;
	for (f = ev->format.fields; f; f = f->next) {
		size_t n = conversion_of(&p, f);

		if (verbose) {
			out_write(o, p - n, n);
			out_text(o, " ");
		}
		out_text(o, f->name);
		out_text(o, "=");
		put_value(o, f, data, p - n, s);
		if (f->next && !strstr(f->type, "long["))
			out_text(o, " ");
	}
	return true;
}
