/* SPDX-License-Identifier: MIT */
/*
 * See dump.h. tools/dat has opened and checked the file before. The pieces are printed in
 * trace-cmd's order: in version 6 as they follow one another; in version 7 first the options, then
 * the pieces from the last to the first. Tests: tests/cli/test_dump.py.
 */
#include "tools/report/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/fail.h"
#include "tools/dat/dat_format.h"
#include "tools/dat/dat_pieces.h"
#include "tools/text/json.h"
#include "tools/text/out.h"

#define MAX_SECTIONS 4096u

struct section {
	uint64_t at, bytes; /* offset of its head; bytes of the data behind that */
	uint32_t description;
	uint16_t id, flags;
	uint32_t packed, unpacked; /* of a compressed one */
};

struct dump {
	const struct dump_options *o;
	struct dat_reader *d;
	struct out out;
	struct json json;	  /* with o->json: the summary as an object */
	struct section *sections; /* version 7, in the file's order */
	size_t nr_sections, sections_room;
	char *strings; /* their descriptions: of all sections of strings */
	uint64_t strings_bytes;
	size_t *groups; /* offset in strings of each section's */
	size_t nr_groups, groups_room;
};

/* Print a file's text, @n bytes or up to a NUL, and a newline. */
static void put_text(struct out *o, const char *text, uint64_t n)
{
	out_safe_lines(o, text, strnlen(text, n));
	out_text(o, "\n");
}

static const char *description(const struct dump *p, uint32_t at)
{
	return p->strings && at < p->strings_bytes ? p->strings + at : "";
}

static int add_strings(struct dump *p, struct cursor *c, const struct section *s)
{
	unsigned char *body;
	uint64_t bytes;
	char *more;
	int ret = dat_section_body(p->d, c, s->flags & DAT_SECTION_COMPRESSED, s->bytes, &body,
				   &bytes);

	if (ret)
		return ret;
	more = realloc(p->strings, p->strings_bytes + bytes + 1);
	if (!more || ARRAY_ROOM(p->groups, p->nr_groups, p->groups_room, 4)) {
		p->strings = more ? more : p->strings;
		free(body);
		return dat_no_memory(p->d);
	}
	memcpy(more + p->strings_bytes, body, bytes + 1);
	p->strings = more;
	p->groups[p->nr_groups++] = p->strings_bytes;
	p->strings_bytes += bytes;
	free(body);
	return 0;
}

/* Find the sections of version 7, from offset @at on. Return: 0 or -errno with fail() set. */
static int find_sections(struct dump *p, uint64_t at)
{
	struct dat_reader *d = p->d;
	struct cursor c;

	while (at + DAT_SECTION_BYTES <= d->file_bytes && p->nr_sections < MAX_SECTIONS) {
		struct section s = {.at = at};
		int ret;

		dat_cursor_on_file(d, &c, at);
		s.id = cursor_u16(&c);
		s.flags = cursor_u16(&c);
		s.description = cursor_u32(&c);
		s.bytes = cursor_u64(&c);
		if (c.bad || s.bytes > c.end - c.pos || s.id > DAT_BUFFER_TEXT)
			break; /* behind this there are no more sections */
		if (s.flags & DAT_SECTION_COMPRESSED && s.id != DAT_BUFFER &&
		    s.id != DAT_BUFFER_TEXT) {
			s.packed = cursor_u32(&c);
			s.unpacked = cursor_u32(&c);
			c.pos -= 2 * sizeof(uint32_t);
		}
		if (s.id == DAT_STRINGS) {
			ret = add_strings(p, &c, &s);
			if (ret)
				return ret;
		}
		if (ARRAY_ROOM(p->sections, p->nr_sections, p->sections_room, 16))
			return dat_no_memory(d);
		p->sections[p->nr_sections++] = s;
		at += DAT_SECTION_BYTES + s.bytes;
	}
	return 0;
}

static const struct section *section_at(const struct dump *p, uint64_t at)
{
	for (size_t i = 0; i < p->nr_sections; i++)
		if (p->sections[i].at == at)
			return &p->sections[i];
	return NULL;
}

static void put_section(struct dump *p, uint64_t at)
{
	const struct section *s = section_at(p, at);

	if (s)
		out_printf(&p->out,
			   "\t[Section %d @ %" PRIu64 ": \"%s\", flags 0x%X, %" PRIu64 " bytes]\n",
			   s->id, s->at, description(p, s->description), s->flags, s->bytes);
}

static void put_head(struct dump *p, const char *path)
{
	const struct dat_reader *d = p->d;
	struct json *j = &p->json;

	if (p->o->json) {
		json_number(j, "version", (uint64_t)d->version);
		json_bool(j, "little_endian", !d->layout.swap);
		json_number(j, "long_bytes", d->layout.head_bytes - 8u);
		json_number(j, "page_bytes", d->page_bytes);
		json_text(j, "compression", d->version == 7 ? d->compressor : NULL);
		json_text(j, "compression_version", d->version == 7 ? d->compressor_version : NULL);
		return;
	}
	out_printf(&p->out, "\n Tracing meta data in file %s:\n\t[Initial format]\n", path);
	out_printf(&p->out, "\t\t%d\t[Version]\n\t\t%d\t[%s endian]\n", d->version, d->layout.swap,
		   d->layout.swap ? "Big" : "Little");
	out_printf(&p->out, "\t\t%u\t[Bytes in a long]\n", d->layout.head_bytes - 8u);
	out_printf(&p->out, "\t\t%u\t[Page size, bytes]\n", d->page_bytes);
	if (d->version == 7)
		out_printf(&p->out,
			   "\t\t%s\t[Compression algorithm]\n\t\t%s\t[Compression version]\n",
			   d->compressor, d->compressor_version);
}

/* --all: the offsets and sizes of the sections. */
static void put_sections(struct dump *p)
{
	const char *at = p->strings;
	size_t group = 0;

	for (; at && at < p->strings + p->strings_bytes; at += strlen(at) + 1) {
		if (group < p->nr_groups && (size_t)(at - p->strings) >= p->groups[group]) {
			out_text(&p->out, "\t[String @ offset]\n");
			group++;
		}
		out_printf(&p->out, "\t\t\"%s\" @ %td\n", at, at - p->strings);
	}
	for (size_t i = 0; i < p->nr_sections; i++) {
		const struct section *s = &p->sections[i];

		out_printf(&p->out, "\t[Section %2d @ %-16" PRIu64 "\t\"%s\", flags 0x%X, ", s->id,
			   s->at, description(p, s->description), s->flags);
		if (s->unpacked)
			out_printf(&p->out, "%u compressed, %u uncompressed]\n", s->packed,
				   s->unpacked);
		else
			out_printf(&p->out, "%" PRIu64 "%s bytes]\n", s->bytes,
				   s->flags & DAT_SECTION_COMPRESSED ? " compressed" : "");
	}
}

/* A number: a member of the object, or, if @show, in a line of text. */
static void put_number(struct dump *p, bool show, const char *member, uint64_t n,
		       const char *before, const char *after)
{
	if (p->o->json)
		json_number(&p->json, member, n);
	else if (show || p->o->summary)
		out_printf(&p->out, "\t%s%" PRIu64 "%s\n", before, n, after);
}

/* The bodies of the pieces, which version 6 has in place and version 7 in sections. */
static int put_header_info(struct dump *p, struct cursor *c)
{
	char name[16];

	for (int i = 0; i < 2; i++) {
		uint64_t bytes;
		char *text;

		cursor_string(c, name, sizeof(name));
		bytes = cursor_u64(c);
		text = cursor_text(c, bytes);
		if (!text)
			return dat_damaged(p->d, "its header_page");
		put_number(p, i ? p->o->head_event : p->o->head_page,
			   i ? "header_event_bytes" : "header_page_bytes", bytes,
			   i ? "[Header event, " : "[Header page, ", " bytes]");
		if (i ? p->o->head_event : p->o->head_page)
			put_text(&p->out, text, bytes);
		free(text);
	}
	return 0;
}

static int put_formats(struct dump *p, struct cursor *c, uint32_t nr, bool show)
{
	for (; nr; nr--) {
		uint64_t bytes = cursor_u64(c);
		char *text = cursor_text(c, bytes);

		if (!text)
			return dat_damaged(p->d, "its event formats");
		if (show)
			put_text(&p->out, text, bytes);
		free(text);
	}
	return 0;
}

static int put_ftrace_events(struct dump *p, struct cursor *c)
{
	uint32_t nr = cursor_u32(c);

	put_number(p, p->o->ftrace_events, "ftrace_events", nr, "[Ftrace format, ", " events]");
	return put_formats(p, c, nr, p->o->ftrace_events);
}

static int put_event_formats(struct dump *p, struct cursor *c)
{
	uint32_t nr = cursor_u32(c), events;
	char system[DAT_NAME_BYTES];
	int ret = 0;

	if (p->o->json)
		json_open(&p->json, "systems", '[');
	else if (p->o->events || p->o->systems || p->o->summary)
		out_printf(&p->out, "\t[Events format, %u systems]\n", nr);
	for (; nr && !ret; nr--) {
		if (!cursor_string(c, system, sizeof(system)))
			return dat_damaged(p->d, "its event formats");
		events = cursor_u32(c);
		if (p->o->json) {
			json_open(&p->json, NULL, '{');
			json_text(&p->json, "name", system);
			json_number(&p->json, "events", events);
			json_close(&p->json, '}');
		}
		if (p->o->systems)
			out_printf(&p->out, "\t\t%s %u [system, events]\n", system, events);
		ret = put_formats(p, c, events, p->o->events);
	}
	if (p->o->json)
		json_close(&p->json, ']');
	return ret;
}

static int put_one_text(struct dump *p, struct cursor *c, uint64_t bytes, const char *what,
			const char *member, bool show)
{
	char *text = cursor_text(c, bytes);

	if (!text)
		return dat_damaged(p->d, "a text in it");
	put_number(p, show, member, bytes, what, " bytes]");
	if (show)
		put_text(&p->out, text, bytes);
	free(text);
	return 0;
}

static int put_kallsyms(struct dump *p, struct cursor *c)
{
	return put_one_text(p, c, cursor_u32(c), "[Kallsyms, ", "kallsyms_bytes", p->o->kallsyms);
}

static int put_printk(struct dump *p, struct cursor *c)
{
	return put_one_text(p, c, cursor_u32(c), "[Trace printk, ", "printk_bytes", p->o->printk);
}

static int put_cmd_lines(struct dump *p, struct cursor *c)
{
	return put_one_text(p, c, cursor_u64(c), "[Saved command lines, ", "cmd_lines_bytes",
			    p->o->cmd_lines);
}

static const struct piece {
	uint16_t id;
	const char *option;
	int (*put)(struct dump *p, struct cursor *c);
} pieces[] = {
	{DAT_HEADER_INFO, "HEADERS", put_header_info},
	{DAT_FTRACE_EVENTS, "FTRACE EVENTS", put_ftrace_events},
	{DAT_EVENT_FORMATS, "EVENT FORMATS", put_event_formats},
	{DAT_KALLSYMS, "KALLSYMS", put_kallsyms},
	{DAT_PRINTK, "PRINTK", put_printk},
	{DAT_CMDLINES, "CMDLINES", put_cmd_lines},
};
#define NR_PIECES (sizeof(pieces) / sizeof(pieces[0]))

static bool wants(const struct dump *p, uint16_t id)
{
	switch (id) {
	case DAT_HEADER_INFO:
		return p->o->head_page || p->o->head_event;
	case DAT_FTRACE_EVENTS:
		return p->o->ftrace_events;
	case DAT_EVENT_FORMATS:
		return p->o->events || p->o->systems;
	case DAT_KALLSYMS:
		return p->o->kallsyms;
	case DAT_PRINTK:
		return p->o->printk;
	default:
		return p->o->cmd_lines;
	}
}

/* Version 7: the pieces, last to first. */
static int put_pieces(struct dump *p)
{
	int ret = 0;

	for (size_t i = NR_PIECES; i-- > 0 && !ret;) {
		for (size_t k = 0; k < p->nr_sections && !ret; k++) {
			const struct section *s = &p->sections[k];
			unsigned char *body;
			uint64_t bytes;
			struct cursor c;

			if (s->id != pieces[i].id || !(wants(p, s->id) || p->o->summary))
				continue;
			if (wants(p, s->id))
				put_section(p, s->at);
			dat_cursor_on_file(p->d, &c, s->at + DAT_SECTION_BYTES);
			ret = dat_section_body(p->d, &c, s->flags & DAT_SECTION_COMPRESSED,
					       s->bytes, &body, &bytes);
			if (ret)
				return ret;
			dat_cursor_on_memory(p->d, &c, body, (size_t)bytes);
			ret = pieces[i].put(p, &c);
			free(body);
		}
	}
	return ret;
}

static void put_buffer_json(struct dump *p, const char *name, const char *clock, uint32_t page,
			    uint32_t nr_cpus, uint64_t bytes)
{
	json_open(&p->json, NULL, '{');
	json_text(&p->json, "name", name);
	json_text(&p->json, "clock", clock);
	json_bool(&p->json, "latency", !page);
	json_number(&p->json, "page_bytes", page);
	json_number(&p->json, "cpus", nr_cpus);
	json_number(&p->json, "bytes", bytes);
	json_close(&p->json, '}');
}

/* The BUFFER options. */
static void put_buffer(struct dump *p, const struct dat_option_data *o, bool show)
{
	char name[DAT_NAME_BYTES], clock[DAT_NAME_BYTES];
	uint64_t at, sum = 0;
	uint32_t page, nr;
	struct cursor c;

	dat_cursor_on_memory(p->d, &c, o->data, o->bytes);
	at = cursor_u64(&c);
	cursor_string(&c, name, sizeof(name));
	if (p->o->flyrecord)
		put_section(p, at);
	if (show) {
		out_printf(&p->out, "\t\t[Option BUFFER, %u bytes]\n", o->bytes);
		out_printf(&p->out, "%" PRIu64 " [offset]\n\"%s\" [name]\n", at, name);
	}
	if (p->d->version == 6)
		return;
	cursor_string(&c, clock, sizeof(clock));
	if (show)
		out_printf(&p->out, "\"%s\" [clock]\n", clock);
	if (o->id == DAT_BUFFER_TEXT) {
		if (p->o->json)
			put_buffer_json(p, name, clock, 0, 0, 0);
		else if (p->o->summary)
			out_printf(&p->out, "\t[buffer \"%s\", \"%s\" clock, latency data]\n", name,
				   clock);
		return;
	}
	page = cursor_u32(&c);
	nr = cursor_u32(&c);
	if (show)
		out_printf(&p->out, "%u [Page size, bytes]\n%u [CPUs]:\n", page, nr);
	for (uint32_t i = 0; i < nr && !c.bad; i++) {
		uint32_t cpu = cursor_u32(&c);
		uint64_t start = cursor_u64(&c), bytes = cursor_u64(&c);

		if (show && !c.bad)
			out_printf(&p->out,
				   "   %u %" PRIu64 "\t%" PRIu64 "\t[id, data offset and size]\n",
				   cpu, start, bytes);
		sum += bytes;
	}
	if (p->o->json)
		put_buffer_json(p, name, clock, page, nr, sum);
	else if (p->o->summary)
		out_printf(&p->out,
			   "\t[buffer \"%s\", \"%s\" clock, %u page size, %u cpus, %" PRIu64
			   " bytes flyrecord data]\n",
			   name, clock, page, nr, sum);
}

static void put_guest(struct dump *p, struct cursor *c)
{
	char name[DAT_NAME_BYTES];
	uint32_t nr;

	cursor_string(c, name, sizeof(name));
	out_printf(&p->out, "%s [Guest name]\n0x%" PRIX64 " [trace id]\n", name, cursor_u64(c));
	nr = cursor_u32(c);
	out_printf(&p->out, "%u [Guest CPUs]\n", nr);
	for (; nr && !c->bad; nr--) {
		uint32_t cpu = cursor_u32(c), pid = cursor_u32(c);

		if (!c->bad)
			out_printf(&p->out, "  %u %u [guest cpu, host pid]\n", cpu, pid);
	}
}

static void put_time_shift(struct dump *p, struct cursor *c, uint32_t option_bytes)
{
	uint64_t times, fractions;
	uint32_t nr_cpus, nr, i, cpu;
	struct cursor at = *c;

	out_printf(&p->out, "0x%" PRIX64 " [peer's trace id]\n", cursor_u64(&at));
	out_printf(&p->out, "0x%X [peer's protocol flags]\n", cursor_u32(&at));
	nr_cpus = cursor_u32(&at);
	out_printf(&p->out, "0x%X [peer's CPU count]\n", nr_cpus);
	if (nr_cpus > option_bytes)
		return;
	fractions = at.pos;
	for (cpu = 0; cpu < nr_cpus && !at.bad; cpu++) {
		nr = cursor_u32(&at);
		out_printf(&p->out, "%u [samples count for CPU %u]\n", nr, cpu);
		cursor_skip(&at, (uint64_t)nr * 24);
		fractions = at.pos;
	}
	at = *c;
	cursor_skip(&at, 16);
	for (cpu = 0; cpu < nr_cpus && !at.bad; cpu++) {
		nr = cursor_u32(&at);
		times = at.pos;
		for (i = 0; i < nr && !at.bad; i++) {
			uint64_t time, offset, scaling, fraction;

			at.pos = times + 8 * (uint64_t)i;
			time = cursor_u64(&at);
			at.pos = times + 8 * ((uint64_t)nr + i);
			offset = cursor_u64(&at);
			at.pos = times + 8 * (2 * (uint64_t)nr + i);
			scaling = cursor_u64(&at);
			at.pos = fractions;
			fractions += 8;
			fraction = cursor_u64(&at);
			out_printf(&p->out,
				   "\t%" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64
				   "[offset * scaling >> fraction @ time]\n",
				   (int64_t)offset, scaling, fraction, time);
		}
		at.pos = times + 24 * (uint64_t)nr;
	}
}

static void put_option(struct dump *p, const struct dat_option_data *o)
{
	static const char *const texts[] = {
		[DAT_DATE] = "DATE",	     [DAT_CPUSTAT] = "CPUSTAT",
		[DAT_UNAME] = "UNAME",	     [DAT_HOOK] = "HOOK",
		[DAT_OFFSET] = "OFFSET",     [DAT_VERSION] = "VERSION",
		[DAT_PROCMAPS] = "PROCMAPS", [DAT_TRACECLOCK] = "TRACECLOCK"};
	struct cursor c;

	dat_cursor_on_memory(p->d, &c, o->data, o->bytes);
	if (o->id < sizeof(texts) / sizeof(texts[0]) && texts[o->id]) {
		out_printf(&p->out, "\t\t[Option %s, %u bytes]\n", texts[o->id], o->bytes);
		put_text(&p->out, o->data, strlen(o->data));
		return;
	}
	for (size_t i = 0; i < NR_PIECES; i++) {
		if (pieces[i].id == o->id) {
			out_printf(&p->out, "\t\t[Option %s, %u bytes] @ %" PRIu64 "\n",
				   pieces[i].option, o->bytes, cursor_u64(&c));
			return;
		}
	}
	switch (o->id) {
	case DAT_TRACEID:
		out_printf(&p->out, "\t\t[Option TRACEID, %u bytes]\n0x%" PRIX64 "\n", o->bytes,
			   cursor_u64(&c));
		break;
	case DAT_CPUCOUNT:
		out_printf(&p->out, "\t\t[Option CPUCOUNT, %u bytes]\n%u\n", o->bytes,
			   cursor_u32(&c));
		break;
	case DAT_TSC2NSEC: {
		uint32_t mult = cursor_u32(&c), shift = cursor_u32(&c);

		out_printf(&p->out,
			   "\n\t\t[Option TSC2NSEC, %u bytes]\n%u %u %" PRIu64
			   " [multiplier, shift, offset]\n",
			   o->bytes, mult, shift, cursor_u64(&c));
		break;
	}
	case DAT_GUEST:
		out_printf(&p->out, "\t\t[Option GUEST, %u bytes]\n", o->bytes);
		put_guest(p, &c);
		break;
	case DAT_TIME_SHIFT:
		out_printf(&p->out, "\t\t[Option TimeShift, %u bytes]\n", o->bytes);
		put_time_shift(p, &c, o->bytes);
		break;
	case DAT_DONE:
		out_printf(&p->out, "\t\t[Option DONE, %u bytes]\n%" PRIu64 "\n", o->bytes,
			   cursor_u64(&c));
		break;
	default:
		out_printf(&p->out, " %d %u\t[Unknown option, size - skipping]\n", o->id, o->bytes);
	}
}

static void put_options(struct dump *p)
{
	const struct dat_reader *d = p->d;
	bool begins = d->version == 7;

	if (p->o->json && d->version == 7)
		json_open(&p->json, "buffers", '[');
	for (size_t i = 0; i < d->nr_options; i++) {
		const struct dat_option_data *o = &d->options[i];

		/* the head of its section: the option's own is 6 bytes */
		if (begins && p->o->options)
			put_section(p, o->at - 6 - DAT_SECTION_BYTES);
		begins = false;
		if (o->id == DAT_BUFFER || o->id == DAT_BUFFER_TEXT)
			put_buffer(p, o, p->o->options || p->o->flyrecord);
		else if (p->o->options)
			put_option(p, o);
		else if (p->o->clock && o->id == DAT_TRACECLOCK)
			out_printf(&p->out, "%s\n", o->data);
		if (o->id == DAT_DONE && i + 1 < d->nr_options) {
			begins = true;
			if (p->o->options)
				out_text(&p->out, "\n\n");
		}
	}
	if (p->o->json && d->version == 7)
		json_close(&p->json, ']');
	put_number(p, p->o->options, "options", d->nr_options, "[", " options]");
}

/* Version 6: the CPUs' data and the clock behind their table. */
static int put_flyrecord_v6(struct dump *p)
{
	const struct dat_buffer *b = &p->d->buffers[0];
	uint64_t bytes;
	struct cursor c;
	char *clock;

	if (p->o->json)
		json_bool(&p->json, "latency", b->is_text);
	if (b->is_text) {
		if (!p->o->json && (p->o->summary || p->o->flyrecord))
			out_text(&p->out, "\t[Latency tracing data]\n");
		return 0;
	}
	if (!p->o->json && (p->o->summary || p->o->flyrecord))
		out_text(&p->out, "\t[Flyrecord tracing data]\n");
	dat_cursor_on_file(p->d, &c, b->at);
	for (uint32_t cpu = 0; cpu < b->nr_cpus; cpu++) {
		uint64_t start = cursor_u64(&c);

		bytes = cursor_u64(&c);
		if (p->o->flyrecord)
			out_printf(&p->out,
				   "\t %10" PRIu64 " %10" PRIu64 "\t[offset, size of cpu %u]\n",
				   start, bytes, cpu);
	}
	if (!p->o->summary && !p->o->clock)
		return 0;
	bytes = cursor_u64(&c);
	clock = cursor_text(&c, bytes < 4096 ? bytes : 0);
	if (clock && *clock && p->o->json) {
		json_text(&p->json, "clock", clock);
	} else if (clock && *clock) {
		out_text(&p->out, "\t[Tracing clock]\n\t\t");
		put_text(&p->out, clock, strlen(clock));
	}
	free(clock);
	return 0;
}

static int put_v6(struct dump *p)
{
	struct cursor c;
	int ret = 0;

	dat_cursor_on_file(p->d, &c, p->d->pieces_at);
	for (size_t i = 0; i < NR_PIECES && !ret; i++)
		ret = pieces[i].put(p, &c);
	if (ret)
		return ret;
	put_number(p, false, "cpus", p->d->cpus_given, "", " [CPUs with tracing data]");
	put_options(p);
	return put_flyrecord_v6(p);
}

static int put_v7(struct dump *p)
{
	int ret = find_sections(p, p->d->pieces_at);

	if (ret)
		return ret;
	if (p->o->all)
		put_sections(p);
	put_options(p);
	ret = put_pieces(p);
	if (!ret)
		put_number(p, false, "sections", p->nr_sections, "[", " sections]");
	return ret;
}

int dump_print(const char *path, const struct dump_options *o)
{
	struct dump_options every = {.all = true,
				     .summary = true,
				     .head_page = true,
				     .head_event = true,
				     .ftrace_events = true,
				     .systems = true,
				     .events = true,
				     .kallsyms = true,
				     .printk = true,
				     .cmd_lines = true,
				     .options = true,
				     .flyrecord = true,
				     .clock = true};
	struct dump p = {.o = o->all ? &every : o};
	int ret;

	ret = dat_open(path, true, &p.d);
	if (ret)
		return ret;
	if (out_init(&p.out, STDOUT_FILENO)) {
		reader_close(&p.d->head);
		return fail(ENOMEM, "out of memory");
	}
	if (o->validate) {
		out_printf(&p.out, "File %s is a valid trace-cmd file\n", path);
	} else {
		p.json.o = &p.out;
		if (p.o->json)
			json_open(&p.json, NULL, '{');
		if (p.o->summary)
			put_head(&p, path);
		ret = p.d->version == 7 ? put_v7(&p) : put_v6(&p);
		if (p.o->json) {
			json_close(&p.json, '}');
			out_text(&p.out, "\n");
		}
	}
	ret = out_end_stdout(&p.out, ret, "what the file holds");
	free(p.sections);
	free(p.strings);
	free(p.groups);
	reader_close(&p.d->head);
	return ret;
}
