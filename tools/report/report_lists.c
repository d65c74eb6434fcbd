/* SPDX-License-Identifier: MIT */
/*
 * The parts of a file other than its records, as `report` prints them. Tests:
 * tests/cli/test_report.py.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>

#include "tools/base/fail.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_format.h"
#include "tools/report/report_impl.h"

#define BATCH 512u

static int put_endian(struct report *r, const struct report_file *f)
{
	out_printf(&r->out, "file is %s endian and host is little endian\n",
		   f->d->layout.swap ? "big" : "little");
	return 0;
}

static int put_functions(struct report *r, const struct report_file *f)
{
	struct symbols *s = f->d->head.symbols;

	for (size_t i = 0; i < symbols_count(s); i++) {
		const struct symbol *sym = symbols_at(s, i);

		out_printf(&r->out, "%016" PRIx64 " %s", sym->addr, sym->name);
		if (sym->module)
			out_printf(&r->out, " [%s]", sym->module);
		out_text(&r->out, "\n");
	}
	return 0;
}

static int put_printks(struct report *r, const struct report_file *f)
{
	const struct printks *p = &f->d->printks;

	for (size_t i = 0; i < p->nr; i++) {
		const char *text = p->at[i].text;
		size_t n;

		out_printf(&r->out, "%016" PRIx64 " ", p->at[i].number);
		n = strlen(text);
		out_safe(&r->out, text, n && text[n - 1] == '\n' ? n - 1 : n);
		out_text(&r->out, "\n");
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct tep_event *x = *(struct tep_event *const *)a,
			       *y = *(struct tep_event *const *)b;
	int order = strcmp(x->system, y->system);

	if (!order)
		order = strcmp(x->name, y->name);
	return order ? order : x->id - y->id;
}

static int put_names(struct report *r, const struct report_file *f)
{
	struct tep_handle *tep = line_tep(f->line);
	struct tep_event **all, *ev;
	size_t nr = 0;

	while (tep_get_event(tep, (int)nr))
		nr++;
	all = calloc(nr + 1, sizeof(struct tep_event *));
	if (!all)
		return dat_no_memory(f->d);
	for (size_t i = 0; i < nr && (ev = tep_get_event(tep, (int)i)); i++)
		all[i] = ev;
	qsort(all, nr, sizeof(struct tep_event *), by_name);
	for (size_t i = 0; i < nr; i++)
		out_printf(&r->out, "%s:%s\n", all[i]->system, all[i]->name);
	free(all);
	return 0;
}

/* The name in a format's text. */
static void format_name(const struct format *f, char *name, size_t room)
{
	const char *at = strstr(f->text, "name: ");
	size_t n = at ? strcspn(at + 6, "\n") : 0;

	snprintf(name, room, "%.*s", (int)(n < room ? n : room - 1), at ? at + 6 : "");
}

/* `SYSTEM:EVENT`: two expressions. A single one matches the name of an event or of a system. */
struct event_pattern {
	bool all, one;
	regex_t system, event;
};

static int pattern_init(struct event_pattern *p, const char *text)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	char *system;
	int err = 0;

	*p = (struct event_pattern){.all = !text, .one = !colon};
	if (!text)
		return 0;
	if (colon) {
		system = strndup(text, (size_t)(colon - text));
		err = !system || regcomp(&p->system, system, REG_ICASE | REG_NOSUB);
		free(system);
		text = colon + 1;
	}
	if (!err && regcomp(&p->event, text, REG_ICASE | REG_NOSUB)) {
		if (colon)
			regfree(&p->system);
		err = 1;
	}
	return err ? fail(EINVAL, "'%s' is not a regular expression", text) : 0;
}

static bool pattern_has(const struct event_pattern *p, const char *system, const char *name)
{
	if (p->all)
		return true;
	if (p->one)
		return !regexec(&p->event, name, 0, NULL, 0) ||
		       !regexec(&p->event, system, 0, NULL, 0);
	return !regexec(&p->system, system, 0, NULL, 0) && !regexec(&p->event, name, 0, NULL, 0);
}

static int put_formats(struct report *r, const struct report_file *f)
{
	const struct formats *fs = &f->d->formats;
	const char *system = NULL;
	struct event_pattern p;
	char name[256];
	int ret = pattern_init(&p, r->o->event);

	if (ret)
		return ret;
	for (size_t i = 0; i < fs->nr; i++) {
		const struct format *one = &fs->at[i];

		format_name(one, name, sizeof(name));
		if (!strcmp(one->system, "ftrace") || !pattern_has(&p, one->system, name))
			continue;
		if (!system || strcmp(system, one->system) != 0)
			out_printf(&r->out, "\nsystem: %s\n", one->system);
		system = one->system;
		out_write(&r->out, one->text, one->bytes);
		out_text(&r->out, "\n");
	}
	if (!p.all) {
		if (!p.one)
			regfree(&p.system);
		regfree(&p.event);
	}
	return 0;
}

/* Formats that libtraceevent does not read, or whose text it cannot print. */
static int check_formats(struct report *r, const struct report_file *f)
{
	const struct formats *fs = &f->d->formats;
	unsigned int bad = 0;
	char name[256];

	for (size_t i = 0; i < fs->nr; i++) {
		struct tep_event *ev = tep_find_event(line_tep(f->line), fs->at[i].id);

		if (ev && !(ev->flags & TEP_EVENT_FL_FAILED))
			continue;
		format_name(&fs->at[i], name, sizeof(name));
		out_printf(&r->out, "%s:%s: its format cannot be parsed\n", fs->at[i].system, name);
		bad++;
	}
	if (!bad)
		return 0;
	return fail(EINVAL, "%u of %zu formats in '%s' cannot be parsed", bad, fs->nr, f->in->path);
}

/* The times of the first and the last record of a CPU. Return: 1; 0: it has none; -errno. */
static int ends(const struct report_file *f, struct dat_stream *s, bool last, uint64_t *first_ts,
		uint64_t *last_ts)
{
	struct record *batch = malloc(BATCH * sizeof(*batch));
	bool any = false;
	int n;

	if (!batch)
		return dat_no_memory(f->d);
	while ((n = dat_stream_read(s, batch, BATCH)) > 0) {
		if (!any)
			*first_ts = batch[0].ts;
		*last_ts = batch[n - 1].ts;
		any = true;
		if (!last)
			break;
	}
	free(batch);
	return n < 0 ? n : any;
}

static void put_time(struct report *r, const struct report_file *f, const char *what,
		     unsigned int cpu, uint64_t ts)
{
	ts = report_time(f, cpu, ts);
	if (r->o->raw_ts || !f->d->head.ts_is_ns)
		out_printf(&r->out, "\t%s event:%12" PRIu64, what, ts);
	else if (r->o->line.nanoseconds)
		out_printf(&r->out, "\t%s event: %4" PRIu64 ".%09" PRIu64, what, ts / 1000000000,
			   ts % 1000000000);
	else
		out_printf(&r->out, "\t%s event: %4" PRIu64 ".%06" PRIu64, what,
			   (ts + 500) / 1000 / 1000000, (ts + 500) / 1000 % 1000000);
}

static int put_cpus(struct report *r, const struct report_file *f)
{
	const struct dat_buffer *b = f->d->top;
	uint64_t first = 0, last = 0;
	int ret = 0;

	out_printf(&r->out, "List of CPUs in %s with data:\n", f->in->path);
	for (uint32_t cpu = 0; cpu < b->nr_cpus && ret >= 0; cpu++) {
		ret = ends(f, &b->streams[cpu], r->o->last_event, &first, &last);
		if (ret <= 0)
			continue;
		out_printf(&r->out, "  %u", cpu);
		if (r->o->first_event)
			put_time(r, f, "First", cpu, first);
		if (r->o->last_event)
			put_time(r, f, "Last", cpu, last);
		out_text(&r->out, "\n");
	}
	return ret < 0 ? ret : 0;
}

/* The option's texts, in the order of the file. Return: whether there is one. */
static bool put_options(struct report *r, const struct report_file *f, uint16_t id)
{
	const struct dat_reader *d = f->d;
	bool any = false;

	for (size_t i = 0; i < d->nr_options; i++) {
		if (d->options[i].id != id)
			continue;
		out_printf(&r->out, "%s\n", d->options[i].data);
		any = true;
	}
	return any;
}

static int put_stat(struct report *r, const struct report_file *f)
{
	const struct dat_buffer *b = f->d->top;
	uint64_t at = b->layout.page_bytes, bytes;
	int ret;

	report_put_cpus(r, f);
	out_text(&r->out,
		 "\nKernel buffer statistics:\n"
		 "  Note: \"entries\" are the entries left in the kernel ring buffer and are not\n"
		 "        recorded in the trace data. They should all be zero.\n\n");
	out_text(&r->out, put_options(r, f, DAT_CPUSTAT) ? "\n" : " No stats in this file\n");
	for (uint32_t cpu = 0; cpu < b->nr_cpus; cpu++) {
		ret = dat_stream_bytes(&b->streams[cpu], &bytes);
		if (ret)
			return ret;
		/* for compressed data, the offset without compression */
		out_printf(&r->out, "CPU%u data recorded at offset=0x%" PRIx64 "\n", cpu,
			   b->layout.compressed ? at : b->streams[cpu].start);
		out_printf(&r->out, "    %" PRIu64 " bytes in size\n", bytes);
		at += bytes;
	}
	return 0;
}

static int put_version(struct report *r, const struct report_file *f, bool uname)
{
	report_put_cpus(r, f);
	if (uname)
		put_options(r, f, DAT_UNAME);
	put_options(r, f, DAT_VERSION);
	return 0;
}

/* Print the filters, each for its events. */
static int put_filters(struct report *r, const struct report_file *f)
{
	struct tep_handle *tep = line_tep(f->line);
	struct tep_event *ev;
	int nr = 0;

	while (tep_get_event(tep, nr))
		nr++;
	for (size_t i = 0; i < r->o->nr_filters; i++) {
		for (int k = nr; k-- > 0;) {
			char *text;

			ev = tep_get_event(tep, k);
			text = ev ? tep_filter_make_string(f->filters[i], ev->id) : NULL;
			if (text && *text)
				out_printf(&r->out, " '%s: %s'\n", ev->name, text);
			free(text);
		}
	}
	return 0;
}

int report_list(struct report *r, const struct report_file *f)
{
	switch (r->o->what) {
	case REPORT_ENDIAN:
		return put_endian(r, f);
	case REPORT_FUNCTIONS:
		return put_functions(r, f);
	case REPORT_PRINTKS:
		return put_printks(r, f);
	case REPORT_NAMES:
		return put_names(r, f);
	case REPORT_FORMATS:
		return put_formats(r, f);
	case REPORT_CHECK:
		return check_formats(r, f);
	case REPORT_CPUS:
		return put_cpus(r, f);
	case REPORT_STAT:
		return put_stat(r, f);
	case REPORT_UNAME:
	case REPORT_VERSION:
		return put_version(r, f, r->o->what == REPORT_UNAME);
	case REPORT_FILTER_TEST:
		return put_filters(r, f);
	case REPORT_RECORDS:
		break;
	}
	return 0;
}
