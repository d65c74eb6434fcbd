/* SPDX-License-Identifier: MIT */
/* See dat_options.h. Tests: tests/unit/test_dat_read.c. */
#include "tools/dat/dat_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/code/prototype.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_format.h"
#include "tools/reader/tasks.h"

#define MAX_CPUS     8192u
#define MAX_PAGE     (1u << 20)
#define OUR_VERSION  "vestige "
#define STATS_FIELDS 8

int dat_add_stream(struct dat_reader *d, uint32_t cpu, uint64_t start, uint64_t bytes)
{
	/* the size of compressed data does not count the number of chunks before them */
	if (bytes && d->layout.compressed)
		bytes += sizeof(uint32_t);
	if (bytes &&
	    (bytes < sizeof(uint32_t) || start > d->file_bytes || bytes > d->file_bytes - start))
		return dat_damaged(d, "the data of a CPU reach beyond its end");
	dat_stream_init(&d->streams[cpu], &d->layout, cpu, bytes ? start : 0, bytes);
	return 0;
}

int dat_alloc_streams(struct dat_reader *d, uint32_t nr_cpus)
{
	uint32_t cpu;

	if (nr_cpus > MAX_CPUS)
		return dat_damaged(d, "an impossible number of CPUs");
	d->streams = calloc(nr_cpus + 1u, sizeof(*d->streams));
	if (!d->streams)
		return dat_no_memory(d);
	d->head.nr_cpus = nr_cpus;
	for (cpu = 0; cpu < nr_cpus; cpu++)
		dat_stream_init(&d->streams[cpu], &d->layout, cpu, 0, 0);
	return 0;
}

int dat_set_page_bytes(struct dat_reader *d, uint32_t bytes)
{
	if (bytes < 64 || bytes > MAX_PAGE || bytes & (bytes - 1))
		return dat_damaged(d, "an impossible size of its sub-buffers");
	d->layout.page_bytes = bytes;
	return 0;
}

/*
 * The BUFFER option of version 7; only the top buffer's is taken, and the first one for want of it.
 */
static int option_buffer(struct dat_reader *d, struct cursor *c)
{
	char name[DAT_NAME_BYTES], clock[DAT_NAME_BYTES];
	uint32_t page, nr, i, nr_cpus = 0;
	struct cursor section, again;
	uint64_t at, bytes, start, size;
	bool packed;
	int ret;

	at = cursor_u64(c);
	cursor_string(c, name, sizeof(name));
	cursor_string(c, clock, sizeof(clock));
	page = cursor_u32(c);
	nr = cursor_u32(c);
	if (c->bad || nr > MAX_CPUS)
		return dat_damaged(d, "its option about the buffer");
	if (d->buffer_found && name[0])
		return 0;
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
	cursor_on_file(&section, d->layout.fd, at, d->file_bytes);
	ret = dat_section_head(d, &section, DAT_BUFFER, &packed, &bytes);
	if (ret)
		return ret;
	ret = dat_set_page_bytes(d, page);
	if (ret)
		return ret;
	d->layout.compressed = packed;
	snprintf(d->head.clock, sizeof(d->head.clock), "%.*s", (int)sizeof(d->head.clock) - 1,
		 clock);
	for (i = 0; d->streams && i < d->head.nr_cpus; i++)
		dat_stream_reset(&d->streams[i]);
	free(d->streams);
	d->streams = NULL;
	ret = dat_alloc_streams(d, nr_cpus);
	for (i = 0; i < nr && !ret; i++) {
		uint32_t cpu = cursor_u32(&again);

		start = cursor_u64(&again);
		size = cursor_u64(&again);
		ret = dat_add_stream(d, cpu, start, size);
	}
	d->buffer_found = true;
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
	case DAT_CPUCOUNT:
		cursor_on_memory(&c, text, bytes);
		if (d->version == 6)
			d->cpus_given = cursor_u32(&c);
		break;
	case DAT_TSC2NSEC:
		cursor_on_memory(&c, text, bytes);
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

int dat_read_options(struct dat_reader *d, struct cursor *c, uint64_t *at, uint64_t *next)
{
	size_t i;
	int ret = 0;

	*next = 0;
	while (!ret) {
		uint16_t id = cursor_u16(c);
		uint32_t bytes;
		struct cursor body;
		char *text;

		if (id == DAT_DONE && d->version == 6)
			return dat_check(d, c, "its options");
		bytes = cursor_u32(c);
		text = cursor_text(c, bytes);
		if (!text)
			return dat_damaged(d, "its options");
		cursor_on_memory(&body, text, bytes);
		if (id == DAT_DONE) {
			*next = cursor_u64(&body);
			free(text);
			return 0;
		}
		for (i = 0; i < DAT_NR_PIECES && dat_pieces[i].id != id; i++)
			;
		if (i < DAT_NR_PIECES && d->version == 7)
			at[i] = cursor_u64(&body);
		else if (id == DAT_BUFFER && d->version == 7)
			ret = option_buffer(d, &body);
		else if (id != DAT_BUFFER)
			ret = option_text(d, id, text, bytes);
		free(text);
	}
	return ret;
}
