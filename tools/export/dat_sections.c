/* SPDX-License-Identifier: MIT */
/* See dat_sections.h. Tests: tests/unit/test_dat_write.c. */
#include "tools/export/dat_sections.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "tools/base/time_ns.h"
#include "tools/code/prototype.h"
#include "tools/code/symbols.h"
#include "tools/export/dat_events.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"
#include "tools/reader/tasks.h"

#define DAT_PROTOTYPES_MAX (64u << 20)
#define VERSION_TEXT	   "vestige " VESTIGE_VERSION

/* events/header_page and events/header_event as a kernel with 4 KiB sub-buffers has them. */
const char dat_header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			       "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
/* The same where a long has 4 bytes. */
static const char header_page_32[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				     "\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n"
				     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				     "\tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n";
const char dat_header_event[] = "# compressed entry header\n"
				"\ttype_len    :    5 bits\n"
				"\ttime_delta  :   27 bits\n"
				"\tarray       :   32 bits\n"
				"\n"
				"\tpadding     : type == 29\n"
				"\ttime_extend : type == 30\n"
				"\ttime_stamp : type == 31\n"
				"\tdata max type_len  == 28\n";

void dat_put_u16(FILE *f, uint16_t v)
{
	fwrite(&v, sizeof(v), 1, f);
}

void dat_put_u32(FILE *f, uint32_t v)
{
	fwrite(&v, sizeof(v), 1, f);
}

void dat_put_u64(FILE *f, uint64_t v)
{
	fwrite(&v, sizeof(v), 1, f);
}

static void put_text64(FILE *f, const char *text, size_t bytes)
{
	dat_put_u64(f, bytes);
	fwrite(text, bytes, 1, f);
}

unsigned int dat_long_bytes(const struct reader *r)
{
	return r && r->long_bytes ? r->long_bytes : 8;
}

void dat_section_header_info(FILE *f, struct reader *r)
{
	const char *page = dat_long_bytes(r) == 4 ? header_page_32 : dat_header_page;

	fwrite("header_page", 12, 1, f);
	put_text64(f, page, strlen(page));
	fwrite("header_event", 13, 1, f);
	put_text64(f, dat_header_event, strlen(dat_header_event));
}

bool dat_has_event(const struct reader *r, const struct dat_event *ev)
{
	return ev->format && (!ev->graph || r->graph) &&
	       (ev->values == DAT_EITHER || (ev->values == DAT_WITH_VALUES) == r->values);
}

static uint32_t nr_of_system(const struct formats *fs, const char *system)
{
	uint32_t nr = 0;
	size_t i;

	for (i = 0; fs && i < fs->nr; i++)
		nr += strcmp(fs->at[i].system, system) == 0;
	return nr;
}

static void put_system(FILE *f, const struct formats *fs, const char *system)
{
	size_t i;

	for (i = 0; fs && i < fs->nr; i++)
		if (strcmp(fs->at[i].system, system) == 0)
			put_text64(f, fs->at[i].text, fs->at[i].bytes);
}

static void put_ftrace_events(FILE *f, struct reader *r, bool compact)
{
	uint32_t i, nr = 0;

	for (i = 0; i < dat_nr_events; i++)
		nr += dat_has_event(r, &dat_events[i]);
	dat_put_u32(f, nr + nr_of_system(r->formats, "ftrace"));
	for (i = 0; i < dat_nr_events; i++) {
		const char *text = compact ? dat_compact_format(dat_events[i].id) : NULL;

		if (!dat_has_event(r, &dat_events[i]))
			continue;
		text = text ? text : dat_events[i].format;
		put_text64(f, text, strlen(text));
	}
	put_system(f, r->formats, "ftrace");
}

void dat_section_ftrace_events(FILE *f, struct reader *r)
{
	put_ftrace_events(f, r, false);
}

void dat_section_compact_events(FILE *f, struct reader *r)
{
	put_ftrace_events(f, r, true);
}

/* Whether format @i is the first of its system. */
static bool is_first(const struct formats *fs, size_t i)
{
	size_t k;

	for (k = 0; k < i && strcmp(fs->at[k].system, fs->at[i].system) != 0; k++)
		;
	return k == i && strcmp(fs->at[i].system, "ftrace") != 0;
}

void dat_section_event_formats(FILE *f, struct reader *r)
{
	const struct formats *fs = r->formats;
	uint32_t systems = 0;
	size_t i;

	for (i = 0; fs && i < fs->nr; i++)
		systems += is_first(fs, i);
	dat_put_u32(f, systems);
	for (i = 0; fs && i < fs->nr; i++) {
		if (!is_first(fs, i))
			continue;
		fwrite(fs->at[i].system, strlen(fs->at[i].system) + 1, 1, f);
		dat_put_u32(f, nr_of_system(fs, fs->at[i].system));
		put_system(f, fs, fs->at[i].system);
	}
}

void dat_section_kallsyms(FILE *f, struct reader *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);

	if (mem) {
		symbols_print_kallsyms(r->symbols, mem);
		fclose(mem);
	}
	dat_put_u32(f, (uint32_t)bytes);
	fwrite(text, 1, bytes, f);
	free(text);
}

void dat_section_printk(FILE *f, struct reader *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);

	if (mem) {
		if (r->printks)
			printks_print(r->printks, mem);
		fclose(mem);
	}
	dat_put_u32(f, (uint32_t)bytes);
	fwrite(text, 1, bytes, f);
	free(text);
}

void dat_section_cmdlines(FILE *f, struct reader *r)
{
	char *text = NULL;
	size_t bytes = 0, i;
	FILE *mem = open_memstream(&text, &bytes);

	if (mem) {
		for (i = 0; i < tasks_count(r->tasks); i++) {
			const struct task *t = tasks_at(r->tasks, i);

			if (t->comm[0])
				fprintf(mem, "%d %s\n", t->pid, t->comm);
		}
		fclose(mem);
	}
	dat_put_u64(f, bytes);
	fwrite(text, 1, bytes, f);
	free(text);
}

void dat_option_put(FILE *f, enum dat_option id, const void *data, size_t bytes)
{
	dat_put_u16(f, (uint16_t)id);
	dat_put_u32(f, (uint32_t)bytes);
	fwrite(data, 1, bytes, f);
}

static void option_text(FILE *f, enum dat_option id, const char *text)
{
	dat_option_put(f, id, text, strlen(text) + 1);
}

static void print_stamp(char *to, size_t room, uint64_t ts, bool ns)
{
	uint64_t us = (ts + 500) / 1000;

	if (ns)
		snprintf(to, room, "%5" PRIu64 ".%06" PRIu64, us / 1000000, us % 1000000);
	else
		snprintf(to, room, "%" PRIu64, ts);
}

/* The text of per_cpu/cpuN/stats. */
static void option_cpustat(FILE *f, unsigned int cpu, const struct reader_cpu_stats *s, bool ns)
{
	char text[512], oldest[40], now[40];

	print_stamp(oldest, sizeof(oldest), s->oldest_ts, ns);
	print_stamp(now, sizeof(now), s->now_ts, ns);
	snprintf(text, sizeof(text),
		 "CPU: %u\nentries: %" PRIu64 "\noverrun: %" PRIu64 "\ncommit overrun: %" PRIu64
		 "\nbytes: %" PRIu64 "\noldest event ts: %s\nnow ts: %s\ndropped events: %" PRIu64
		 "\nread events: %" PRIu64 "\n",
		 cpu, s->entries, s->overrun, s->commit_overrun, s->bytes, oldest, now,
		 s->dropped_events, s->read_events);
	option_text(f, DAT_CPUSTAT, text);
}

/* A random id of this file. KernelShark uses it to pair files. */
static uint64_t trace_id(void)
{
	uint64_t id;

	if (getrandom(&id, sizeof(id), GRND_NONBLOCK) != (ssize_t)sizeof(id))
		id = time_ns(CLOCK_REALTIME);
	return id;
}

/*
 * The address range and path of each object, so that source lines can be found. The text is like a
 * process's maps.
 */
static void option_procmaps(FILE *f, struct reader *r)
{
	const struct task *first = tasks_at(r->tasks, 0);
	size_t nr = symbols_nr_objects(r->symbols), bytes = 0;
	char *text = NULL;
	FILE *mem;

	if (!nr)
		return;
	mem = open_memstream(&text, &bytes);
	if (!mem)
		return;
	fprintf(mem, "%x %zx %s\n", first ? (unsigned int)first->pid : 0, nr,
		first && first->comm[0] ? first->comm : "program");
	for (size_t i = 0; i < nr; i++) {
		const struct symbols_object *o = symbols_object_at(r->symbols, i);

		fprintf(mem, "%" PRIx64 " %" PRIx64 " %s\n", o->base, o->base | UINT32_MAX,
			strchr(o->path, '\n') ? "?" : o->path);
	}
	if (!fclose(mem) && bytes < UINT32_MAX)
		option_text(f, DAT_PROCMAPS, text);
	free(text);
}

/* The threads of traced processes, with their processes. */
static void option_traced(FILE *f, struct reader *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = open_memstream(&text, &bytes);

	if (!mem)
		return;
	for (size_t i = 0; i < tasks_count(r->tasks); i++) {
		const struct task *t = tasks_at(r->tasks, i);

		if (t->traced)
			fprintf(mem, "%d %d\n", t->pid, t->tgid);
	}
	if (!fclose(mem) && bytes && bytes < UINT32_MAX)
		option_text(f, DAT_TRACED, text);
	free(text);
}

void dat_option_put_ends(FILE *f, const struct record_end *ends, size_t nr)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = nr ? open_memstream(&text, &bytes) : NULL;

	if (!mem)
		return;
	for (size_t i = 0; i < nr; i++) {
		fprintf(mem, "%u %" PRIu64, ends[i].stack, ends[i].ts);
		if (!ends[i].stack)
			fprintf(mem, " %d", ends[i].pid);
		fputc('\n', mem);
	}
	if (!fclose(mem) && bytes && bytes < UINT32_MAX)
		option_text(f, DAT_ENDS, text);
	free(text);
}

void dat_option_put_prototypes(FILE *f, struct prototypes *p)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = p ? open_memstream(&text, &bytes) : NULL;

	if (!mem)
		return;
	prototypes_put(p, mem);
	if (!fclose(mem) && bytes && bytes < DAT_PROTOTYPES_MAX)
		dat_option_put(f, DAT_PROTOTYPES, text, bytes + 1);
	free(text);
}

void dat_option_put_buffer(FILE *f, const struct reader *r, const char *name, uint64_t section_at,
			   const uint64_t *offset, const uint64_t *bytes)
{
	const char *clock = r->clock[0] ? r->clock : "local";
	unsigned int cpu;

	dat_put_u16(f, DAT_BUFFER);
	dat_put_u32(
		f, (uint32_t)(8 + strlen(name) + 1 + strlen(clock) + 1 + 4 + 4 + 20u * r->nr_cpus));
	dat_put_u64(f, section_at);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(clock, strlen(clock) + 1, 1, f);
	dat_put_u32(f, SUBBUF_BYTES);
	dat_put_u32(f, r->nr_cpus);
	for (cpu = 0; cpu < r->nr_cpus; cpu++) {
		dat_put_u32(f, cpu);
		dat_put_u64(f, offset[cpu]);
		dat_put_u64(f, bytes[cpu]);
	}
}

void dat_options_put_common(FILE *f, struct reader *r)
{
	uint32_t nr_cpus = r->nr_cpus;
	uint64_t id = trace_id();
	char text[64];
	unsigned int i;

	snprintf(text, sizeof(text), "[%s]\n", r->clock[0] ? r->clock : "local");
	option_text(f, DAT_TRACECLOCK, text);
	if (r->uname[0])
		option_text(f, DAT_UNAME, r->uname);
	option_text(f, DAT_VERSION, VERSION_TEXT);
	option_procmaps(f, r);
	option_traced(f, r);
	dat_option_put(f, DAT_TRACEID, &id, sizeof(id));
	if (r->date_us) {
		snprintf(text, sizeof(text), "0x%" PRIx64, r->date_us);
		option_text(f, DAT_DATE, text);
	}
	if (r->ts_offset_ns) {
		snprintf(text, sizeof(text), "%" PRId64, r->ts_offset_ns);
		option_text(f, DAT_OFFSET, text);
	}
	for (i = 0; r->stats && i < r->nr_cpus; i++)
		option_cpustat(f, i, &r->stats[i], r->ts_is_ns);
	dat_option_put(f, DAT_CPUCOUNT, &nr_cpus, sizeof(nr_cpus));
}

void dat_option_put_lost_at_end(FILE *f, const struct reader *r)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *mem = r->stats ? open_memstream(&text, &bytes) : NULL;

	if (!mem)
		return;
	for (unsigned int c = 0; c < r->nr_cpus; c++)
		if (r->stats[c].lost_at_end)
			fprintf(mem, "%u %" PRIu64 "\n", c, r->stats[c].lost_at_end);
	if (!fclose(mem) && bytes && bytes < UINT32_MAX)
		option_text(f, DAT_LOST_AT_END, text);
	free(text);
}
