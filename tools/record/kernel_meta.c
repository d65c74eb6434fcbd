/* SPDX-License-Identifier: MIT */
/* See kernel_meta.h. Tests: tests/cli/test_restore.py, test_record_kernel.py. */
#include "tools/record/kernel_meta.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/dat/dat_format.h"
#include "tools/export/dat_sections.h"

#define MAX_PAGE_BYTES (1u << 20)

/* Write a file's text with its size before it: u64 if @wide, else u32. */
static int put_text(struct target *top, const char *path, bool wide, FILE *f)
{
	struct target_text text;
	int err = target_read(top, path, &text);

	if (err)
		return err;
	if (wide)
		dat_put_u64(f, text.n);
	else
		dat_put_u32(f, (uint32_t)text.n);
	fwrite(text.at, 1, text.n, f);
	free(text.at);
	return 0;
}

static int put_format(struct target *top, const char *system, const char *event, FILE *f)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "events/%s/%s/format", system, event) >= (int)sizeof(path))
		return fail(ENAMETOOLONG, "events/%s: a name is too long", system);
	return put_text(top, path, true, f);
}

/* Write the number of formats at offset @at, before the formats, when it is known. */
static void put_number(FILE *f, long at, uint32_t nr)
{
	fseek(f, at, SEEK_SET);
	dat_put_u32(f, nr);
	fseek(f, 0, SEEK_END);
}

/* For writing the formats of events, grouped by system. */
struct formats_list {
	struct target *top;
	FILE *f;
	char system[NAME_MAX + 1]; /* of the events now; "": none yet */
	long count_at;		   /* where their number is written */
	uint32_t nr, systems;
};

static void end_system(struct formats_list *l)
{
	if (l->nr)
		put_number(l->f, l->count_at, l->nr);
	l->nr = 0;
}

static int put_event(struct formats_list *l, const char *system, const char *event)
{
	int err;

	if (strcmp(l->system, system) != 0) {
		end_system(l);
		snprintf(l->system, sizeof(l->system), "%s", system);
		fwrite(system, strlen(system) + 1, 1, l->f);
		l->count_at = ftell(l->f);
		dat_put_u32(l->f, 0);
		l->systems++;
	}
	err = put_format(l->top, system, event, l->f);
	l->nr += !err;
	return err;
}

/* Folders that are no events have no format, and an event may vanish. */
static int put_ftrace_event(void *arg, const char *name, bool is_dir)
{
	struct formats_list *l = arg;

	if (is_dir && !put_format(l->top, "ftrace", name, l->f))
		l->nr++;
	return 0;
}

int kernel_meta_put_ftrace(struct target *top, FILE *f)
{
	struct formats_list l = {.top = top, .f = f, .count_at = ftell(f)};
	int err;

	dat_put_u32(f, 0);
	err = top->ops->files(top, "events/ftrace", put_ftrace_event, &l);
	end_system(&l);
	return err;
}

/* Write the formats of the events that are on: lines `SYSTEM:NAME`, grouped by system. */
static int put_enabled(struct formats_list *l, struct target *on)
{
	struct target_text list;
	char *line, *next;
	int err = target_read(on, "set_event", &list);

	if (err)
		return err;
	for (line = list.at; *line && !err; line = next) {
		char *colon = strchr(line, ':');

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		if (!colon || colon > next)
			continue;
		*colon = '\0';
		err = put_event(l, line, colon + 1);
	}
	free(list.at);
	return err;
}

struct system {
	struct formats_list *list;
	const char *name;
};

static int put_one(void *arg, const char *name, bool is_dir)
{
	struct system *s = arg;

	if (is_dir)
		put_event(s->list, s->name, name);
	return 0;
}

static int put_system(void *arg, const char *name, bool is_dir)
{
	struct formats_list *l = arg;
	char path[PATH_MAX];
	struct system s = {l, name};

	if (!is_dir || !strcmp(name, "ftrace"))
		return 0;
	snprintf(path, sizeof(path), "events/%s", name);
	l->top->ops->files(l->top, path, put_one, &s);
	return 0;
}

int kernel_meta_put_events(struct target *top, struct target *on, FILE *f)
{
	struct formats_list l = {.top = top, .f = f};
	long systems_at = ftell(f);
	int err;

	dat_put_u32(f, 0);
	err = on ? put_enabled(&l, on) : top->ops->files(top, "events", put_system, &l);
	end_system(&l);
	put_number(f, systems_at, l.systems);
	return err;
}

int kernel_meta_put_names(struct target *top, FILE *f)
{
	return put_text(top, "saved_cmdlines", true, f);
}

static int put_kallsyms(const char *path, FILE *f)
{
	char part[4096];
	FILE *from = fopen(path, "re");
	long at = ftell(f);
	uint64_t bytes = 0;
	size_t n;
	int err = 0;

	if (!from)
		return fail_errno(errno, "cannot open '%s'", path);
	dat_put_u32(f, 0);
	while (bytes <= UINT32_MAX && (n = fread(part, 1, sizeof(part), from)) > 0) {
		fwrite(part, 1, n, f);
		bytes += n;
	}
	if (ferror(from))
		err = fail_errno(errno, "cannot read '%s'", path);
	else if (bytes > UINT32_MAX)
		err = fail(EFBIG, "'%s' is more than a trace.dat can hold", path);
	fclose(from);
	put_number(f, at, (uint32_t)bytes);
	return err;
}

/* The field's numbers in header_page: "field: TYPE NAME;\toffset:N;\tsize:N;". */
static bool page_field(const char *text, const char *name, unsigned int *offset, unsigned int *size)
{
	const char *at = strstr(text, name);

	return at && sscanf(at + strlen(name), " offset:%u; size:%u;", offset, size) == 2;
}

/* The head of the file: a long is as large as the commit, and a sub-buffer ends with its data. */
static int put_head(struct target *top, FILE *f)
{
	unsigned int at, long_bytes, data_at, data_bytes;
	struct target_text text;
	int err = target_read(top, "events/header_page", &text);

	if (err)
		return err;
	if (!page_field(text.at, " commit;", &at, &long_bytes) ||
	    !page_field(text.at, " data;", &data_at, &data_bytes) ||
	    (long_bytes != 4 && long_bytes != 8) || data_at > 64 || data_bytes > MAX_PAGE_BYTES) {
		free(text.at);
		return fail(EINVAL, "events/header_page is not understood");
	}
	fwrite(DAT_MAGIC, DAT_MAGIC_BYTES, 1, f);
	fwrite("6\0\0", 3, 1, f);
	fputc((int)long_bytes, f);
	dat_put_u32(f, data_at + data_bytes);
	fwrite("header_page", 12, 1, f);
	dat_put_u64(f, text.n);
	fwrite(text.at, 1, text.n, f);
	free(text.at);
	fwrite("header_event", 13, 1, f);
	return put_text(top, "events/header_event", true, f);
}

int kernel_meta_put(struct target *top, const char *kallsyms, FILE *f)
{
	int err = put_head(top, f);

	if (!err)
		err = kernel_meta_put_ftrace(top, f);
	if (!err)
		err = kernel_meta_put_events(top, NULL, f);
	if (!err)
		err = put_kallsyms(kallsyms, f);
	if (!err)
		err = put_text(top, "printk_formats", false, f);
	return err ? err : kernel_meta_put_names(top, f);
}

/* The number behind the word @name of a file `stats`, in the unit of its last digit. */
static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t whole;
	char *end;

	if (!at)
		return 0;
	whole = strtoull(at + strlen(name), &end, 10);
	return *end == '.' ? whole * 1000000 + strtoull(end + 1, NULL, 10) : whole;
}

void kernel_meta_stats(const char *text, struct reader_cpu_stats *stats)
{
	*stats = (struct reader_cpu_stats){
		.entries = field(text, "entries: "),
		.overrun = field(text, "\noverrun: "),
		.commit_overrun = field(text, "\ncommit overrun: "),
		.bytes = field(text, "\nbytes: "),
		.oldest_ts = field(text, "\noldest event ts: ") * 1000,
		.now_ts = field(text, "\nnow ts: ") * 1000,
		.dropped_events = field(text, "\ndropped events: "),
		.read_events = field(text, "\nread events: "),
	};
}
