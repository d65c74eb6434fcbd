/* SPDX-License-Identifier: MIT */
/* See dat_options.h. Tests: tests/unit/test_dat_read.c. */
#include "tools/dat/dat_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/array.h"
#include "tools/code/prototype.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_format.h"
#include "tools/reader/tasks.h"

#define MAX_CPUS     8192u
#define MAX_BUFFERS  1024u
#define MAX_PAGE     (1u << 20)
#define OUR_VERSION  "vestige "
#define STATS_FIELDS 8

struct dat_buffer *dat_buffer_new(struct dat_reader *d)
{
	struct dat_buffer *b;

	if (d->nr_buffers == MAX_BUFFERS ||
	    ARRAY_ROOM(d->buffers, d->nr_buffers, d->buffers_room, 4))
		return NULL;
	b = &d->buffers[d->nr_buffers++];
	*b = (struct dat_buffer){.layout = d->layout};
	return b;
}

/* Add the stream of a CPU's data. */
static int add_stream(struct dat_reader *d, struct dat_buffer *b, uint32_t cpu, uint64_t start,
		      uint64_t bytes)
{
	/* the size of compressed data does not count the number of chunks before them */
	if (bytes && b->layout.compressed)
		bytes += sizeof(uint32_t);
	if (bytes &&
	    (bytes < sizeof(uint32_t) || start > d->file_bytes || bytes > d->file_bytes - start))
		return dat_damaged(d, "the data of a CPU reach beyond its end");
	dat_stream_init(&b->streams[cpu], &b->layout, cpu, bytes ? start : 0, bytes);
	b->nr_with_data += bytes != 0;
	return 0;
}

/* Streams for @nr_cpus, without data. */
static int alloc_streams(struct dat_reader *d, struct dat_buffer *b, uint32_t nr_cpus)
{
	uint32_t cpu;

	if (nr_cpus > MAX_CPUS)
		return dat_damaged(d, "an impossible number of CPUs");
	b->streams = calloc(nr_cpus + 1u, sizeof(*b->streams));
	if (!b->streams)
		return dat_no_memory(d);
	b->nr_cpus = nr_cpus;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		dat_stream_init(&b->streams[cpu], &b->layout, cpu, 0, 0);
	return 0;
}

int dat_check_page_bytes(struct dat_reader *d, uint32_t bytes)
{
	if (bytes < 64 || bytes > MAX_PAGE || bytes & (bytes - 1))
		return dat_damaged(d, "an impossible size of its sub-buffers");
	return 0;
}

int dat_buffer_v6(struct dat_reader *d, struct dat_buffer *b, struct cursor *c)
{
	uint64_t start, bytes;
	char kind[10];
	uint32_t cpu;
	int ret;

	cursor_get(c, kind, sizeof(kind));
	if (!c->bad && memcmp(kind, "latency  ", 10) == 0) {
		b->is_text = true;
		b->text_at = c->pos;
		b->text_bytes = c->end - c->pos;
		return 0;
	}
	if (c->bad || memcmp(kind, "flyrecord", 10) != 0)
		return dat_damaged(d, "no table of CPUs");
	b->at = c->pos;
	ret = alloc_streams(d, b, d->cpus_given);
	for (cpu = 0; !ret && cpu < b->nr_cpus; cpu++) {
		start = cursor_u64(c);
		bytes = cursor_u64(c);
		ret = c->bad ? dat_damaged(d, "its table of CPUs")
			     : add_stream(d, b, cpu, start, bytes);
	}
	return ret;
}

/* The BUFFER option of version 6: the offset of the table of an instance's CPUs, and its name. */
static int option_instance(struct dat_reader *d, struct cursor *c)
{
	struct dat_buffer *b = dat_buffer_new(d);

	if (!b)
		return dat_no_memory(d);
	b->at = cursor_u64(c);
	cursor_string(c, b->name, sizeof(b->name));
	return dat_check(d, c, "its option about a buffer");
}

/* The BUFFER_TEXT option of version 7. */
static int option_buffer_text(struct dat_reader *d, struct cursor *c)
{
	struct dat_buffer *b = dat_buffer_new(d);
	struct cursor section;
	int ret;

	if (!b)
		return dat_no_memory(d);
	b->at = cursor_u64(c);
	cursor_string(c, b->name, sizeof(b->name));
	cursor_string(c, b->clock, sizeof(b->clock));
	if (c->bad)
		return dat_damaged(d, "its option about the buffer");
	dat_cursor_on_file(d, &section, b->at);
	ret = dat_section_head(d, &section, DAT_BUFFER_TEXT, &b->text_packed, &b->bytes);
	if (ret)
		return ret;
	b->is_text = true;
	b->text_at = section.pos;
	b->text_bytes = b->bytes;
	return 0;
}

/* The BUFFER option of version 7. */
static int option_buffer(struct dat_reader *d, struct cursor *c)
{
	struct dat_buffer *b = dat_buffer_new(d);
	uint32_t page, nr, i, nr_cpus = 0;
	struct cursor section, again;
	uint64_t start, size;
	int ret;

	if (!b)
		return dat_no_memory(d);
	b->at = cursor_u64(c);
	cursor_string(c, b->name, sizeof(b->name));
	cursor_string(c, b->clock, sizeof(b->clock));
	page = cursor_u32(c);
	nr = cursor_u32(c);
	if (c->bad || nr > MAX_CPUS)
		return dat_damaged(d, "its option about the buffer");
	again = *c;
	for (i = 0; i < nr && !c->bad; i++) {
		uint32_t cpu = cursor_u32(c);

		cursor_skip(c, 16);
		if (cpu >= MAX_CPUS)
			return dat_damaged(d, "an impossible number of CPUs");
		if (cpu >= nr_cpus)
			nr_cpus = cpu + 1;
	}
	if (c->bad)
		return dat_damaged(d, "its option about the buffer");
	dat_cursor_on_file(d, &section, b->at);
	ret = dat_section_head(d, &section, DAT_BUFFER, &b->layout.compressed, &b->bytes);
	if (!ret)
		ret = dat_check_page_bytes(d, page);
	if (ret)
		return ret;
	b->layout.page_bytes = page;
	ret = alloc_streams(d, b, nr_cpus);
	for (i = 0; i < nr && !ret; i++) {
		uint32_t cpu = cursor_u32(&again);

		start = cursor_u64(&again);
		size = cursor_u64(&again);
		ret = add_stream(d, b, cpu, start, size);
	}
	return ret;
}

/* `[NAME]` in the text of trace_clock. */
static void option_clock(struct dat_reader *d, const char *text)
{
	const char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (!open || !close)
		return;
	snprintf(d->head.clock, sizeof(d->head.clock), "%.*s", (int)(close - open - 1), open + 1);
}

static uint64_t parse_stamp(const char *p)
{
	char *end;
	uint64_t v = strtoull(p, &end, 10), us = 0;
	int digits;

	if (*end != '.')
		return v;
	for (digits = 0, end++; digits < 6; digits++)
		us = us * 10 + (*end >= '0' && *end <= '9' ? (uint64_t)(*end++ - '0') : 0);
	return (v * 1000000 + us) * 1000;
}

/* `CPU: N` and the lines of per_cpu/cpuN/stats. */
static int option_cpustat(struct dat_reader *d, const char *text)
{
	static const char *const keys[STATS_FIELDS] = {
		"entries: ",	     "overrun: ", "commit overrun: ", "bytes: ",
		"oldest event ts: ", "now ts: ",  "dropped events: ", "read events: "};
	uint64_t values[STATS_FIELDS] = {0};
	struct reader_cpu_stats *stats;
	unsigned long cpu;
	const char *line;
	int i;

	if (strncmp(text, "CPU: ", 5) != 0)
		return 0;
	cpu = strtoul(text + 5, NULL, 10);
	if (cpu >= MAX_CPUS)
		return 0;
	if (cpu >= d->nr_stats) {
		stats = realloc(d->stats, (cpu + 1) * sizeof(*stats));
		if (!stats)
			return dat_no_memory(d);
		memset(stats + d->nr_stats, 0, (cpu + 1 - d->nr_stats) * sizeof(*stats));
		d->stats = stats;
		d->nr_stats = (unsigned int)cpu + 1;
	}
	for (line = strchr(text, '\n'); line; line = strchr(line, '\n')) {
		line++;
		for (i = 0; i < STATS_FIELDS; i++) {
			size_t n = strlen(keys[i]);

			if (strncmp(line, keys[i], n) == 0)
				values[i] = i == 4 || i == 5 ? parse_stamp(line + n)
							     : strtoull(line + n, NULL, 10);
		}
	}
	d->stats[cpu] = (struct reader_cpu_stats){
		.entries = values[0],
		.overrun = values[1],
		.commit_overrun = values[2],
		.bytes = values[3],
		.oldest_ts = values[4],
		.now_ts = values[5],
		.dropped_events = values[6],
		.read_events = values[7],
	};
	return 0;
}

/* `pid nr comm`, then a line `start end path` for each object, numbers in hex. */
static void option_procmaps(struct dat_reader *d, const char *text)
{
	const char *line = strchr(text, '\n');
	char path[4096];

	for (; line && line[1]; line = strchr(line + 1, '\n')) {
		unsigned long long start, end;

		/* ours alone: the ranges of object_space.h */
		if (sscanf(line + 1, "%llx %llx %4095[^\n]", &start, &end, path) == 3 &&
		    start >> 59 == 1 && !(uint32_t)start)
			symbols_add_object(d->head.symbols, start, path);
	}
}

/* `pid tgid`, a line each. */
static int option_traced(struct dat_reader *d, const char *text)
{
	const char *line = text;
	int pid, tgid;

	for (; line && sscanf(line, "%d %d", &pid, &tgid) == 2; line = line ? line + 1 : NULL) {
		if (tasks_trace(d->head.tasks, pid, tgid))
			return dat_no_memory(d);
		line = strchr(line, '\n');
	}
	return 0;
}

/* `stack stamp`, a line each. dat_read.c converts the stamps later. */
static int option_ends(struct dat_reader *d, const char *text)
{
	struct reader *r = &d->head;
	const struct record_end *last;
	struct record_end end;
	char *behind;

	for (; *text; text = behind + (*behind == '\n')) {
		end.stack = (uint32_t)strtoull(text, &behind, 10);
		end.ts = strtoull(behind, &behind, 10);
		end.pid = end.stack ? 0 : (int32_t)strtol(behind, &behind, 10);
		if (*behind && *behind != '\n')
			return dat_damaged(d, "its option about the ends of calls");
		/* in order, as its reader needs them */
		last = r->nr_ends ? &r->ends[r->nr_ends - 1] : NULL;
		if (last &&
		    (last->stack > end.stack || (last->stack == end.stack && last->pid >= end.pid)))
			return dat_damaged(d, "its option about the ends of calls");
		if (ARRAY_ROOM(r->ends, r->nr_ends, d->ends_room, 16))
			return dat_no_memory(d);
		r->ends[r->nr_ends++] = end;
	}
	return 0;
}

static int option_lost_at_end(struct dat_reader *d, const char *text)
{
	char *behind;

	for (; *text; text = behind + (*behind == '\n')) {
		unsigned long cpu = strtoul(text, &behind, 10);
		uint64_t lost = strtoull(behind, &behind, 10);

		if ((*behind && *behind != '\n') || behind == text || cpu >= d->nr_stats)
			return dat_damaged(d, "its option about losses");
		d->stats[cpu].lost_at_end = lost;
	}
	return 0;
}

static int option_prototypes(struct dat_reader *d, char *text)
{
	struct reader *r = &d->head;

	if (!r->prototypes)
		r->prototypes = prototypes_new(r->symbols);
	if (!r->prototypes || prototypes_add_text(r->prototypes, text))
		return dat_no_memory(d);
	return 0;
}

static int option_text(struct dat_reader *d, uint16_t id, char *text, size_t bytes)
{
	struct dat_layout *l = &d->layout;
	struct cursor c;

	switch (id) {
	case DAT_DATE: /* microseconds */
		l->ts_offset += strtoull(text, NULL, 0) * 1000u;
		break;
	case DAT_OFFSET:
		l->ts_offset += (uint64_t)strtoll(text, NULL, 0);
		break;
	case DAT_CPUSTAT:
		return option_cpustat(d, text);
	case DAT_TRACECLOCK:
		option_clock(d, text);
		break;
	case DAT_UNAME:
		snprintf(d->head.uname, sizeof(d->head.uname), "%s", text);
		break;
	case DAT_PROCMAPS:
		option_procmaps(d, text);
		break;
	case DAT_VERSION:
		d->ours = strncmp(text, OUR_VERSION, strlen(OUR_VERSION)) == 0;
		break;
	case DAT_PROTOTYPES:
		return option_prototypes(d, text);
	case DAT_TRACED:
		return option_traced(d, text);
	case DAT_ENDS:
		return option_ends(d, text);
	case DAT_LOST_AT_END:
		return option_lost_at_end(d, text);
	case DAT_CPUCOUNT:
		dat_cursor_on_memory(d, &c, text, bytes);
		d->cpus_given = cursor_u32(&c);
		break;
	case DAT_TSC2NSEC:
		dat_cursor_on_memory(d, &c, text, bytes);
		l->mult = cursor_u32(&c);
		l->shift = cursor_u32(&c);
		if (l->shift > 63)
			return dat_damaged(d, "its option about the clock");
		break;
	default: /* options that we do not need */
		break;
	}
	return 0;
}

/* Keep an option unchanged. @text: owned by @d in any case. */
static int keep_option(struct dat_reader *d, uint16_t id, char *text, uint32_t bytes, uint64_t at)
{
	if (!d->layout.as_is) {
		free(text);
		return 0;
	}
	if (ARRAY_ROOM(d->options, d->nr_options, d->options_room, 32)) {
		free(text);
		return dat_no_memory(d);
	}
	d->options[d->nr_options++] =
		(struct dat_option_data){.id = id, .bytes = bytes, .data = text, .at = at};
	return 0;
}

int dat_read_options(struct dat_reader *d, struct cursor *c, uint64_t *at, uint64_t *next)
{
	size_t i;
	int ret = 0;

	*next = 0;
	while (!ret) {
		uint16_t id = cursor_u16(c);
		uint64_t body_at;
		uint32_t bytes;
		struct cursor body;
		char *text;

		if (id == DAT_DONE && d->version == 6)
			return dat_check(d, c, "its options");
		bytes = cursor_u32(c);
		body_at = c->pos;
		text = cursor_text(c, bytes);
		if (!text)
			return dat_damaged(d, "its options");
		dat_cursor_on_memory(d, &body, text, bytes);
		if (id == DAT_DONE) {
			*next = cursor_u64(&body);
			return keep_option(d, id, text, bytes, body_at);
		}
		for (i = 0; i < DAT_NR_PIECES && dat_pieces[i].id != id; i++)
			;
		if (i < DAT_NR_PIECES && d->version == 7)
			at[i] = cursor_u64(&body);
		else if (id == DAT_BUFFER)
			ret = d->version == 7 ? option_buffer(d, &body) : option_instance(d, &body);
		else if (id == DAT_BUFFER_TEXT && d->version == 7)
			ret = option_buffer_text(d, &body);
		else
			ret = option_text(d, id, text, bytes);
		if (ret)
			free(text);
		else
			ret = keep_option(d, id, text, bytes, body_at);
	}
	return ret;
}
