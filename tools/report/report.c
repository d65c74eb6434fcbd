/* SPDX-License-Identifier: MIT */
/*
 * See report.h: opens the inputs and chooses what to print. Files are untrusted (tools/dat). Tests:
 * tests/cli/test_report.py.
 */
#include "tools/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/cpu_list.h"
#include "tools/base/fail.h"
#include "tools/base/read_at.h"
#include "tools/code/symbols.h"
#include "tools/dat/dat_format.h"
#include "tools/export/exporter.h"
#include "tools/reader/reader.h"
#include "tools/report/report_impl.h"

static bool is_dat(const char *path)
{
	unsigned char head[16] = {0};
	/* a FIFO must not be waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is;

	/* if it cannot be opened, the reader reports the error */
	if (fd < 0)
		return true;
	is = !read_at(fd, head, reader_format_dat.magic_bytes, 0) &&
	     !memcmp(head, reader_format_dat.magic, reader_format_dat.magic_bytes);
	close(fd);
	return is;
}

/* Convert a spool, an area or another tool's trace to a trace.dat in a file that is unlinked. */
static int open_other(const char *path, struct dat_reader **out)
{
	const char *tmp = getenv("TMPDIR");
	struct export_options opt = {.plain = true};
	char *dir, *dat;
	struct reader *r;
	int ret;

	ret = reader_open(path, &r);
	if (ret)
		return ret;
	if (asprintf(&dir, "%s/vestige-report-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
		reader_close(r);
		return fail(ENOMEM, "out of memory while opening '%s'", path);
	}
	if (!mkdtemp(dir)) {
		ret = fail_errno(errno,
				 "cannot make a folder in %s for what '%s' is converted to: name "
				 "another one with TMPDIR",
				 tmp && *tmp ? tmp : "/tmp", path);
	} else if (asprintf(&dat, "%s/trace.dat", dir) < 0) {
		ret = fail(ENOMEM, "out of memory while opening '%s'", path);
		rmdir(dir);
	} else {
		ret = dat_export(dat, r, &opt);
		if (ret == -ENOSPC || ret == -EDQUOT || ret == -EFBIG)
			ret = fail_errno(-ret,
					 "no room in %s for the trace.dat that '%s' is converted "
					 "to: name another folder with TMPDIR",
					 tmp && *tmp ? tmp : "/tmp", path);
		if (!ret)
			ret = dat_open(dat, true, out);
		unlink(dat);
		rmdir(dir);
		free(dat);
	}
	free(dir);
	reader_close(r);
	return ret;
}

/* The shift and the factor of a file's stamps. */
static int set_clock(const struct report_options *o, struct report_file *f)
{
	struct dat_reader *d = f->d;

	for (size_t i = 0; i < d->nr_buffers; i++) {
		struct dat_layout *l = &d->buffers[i].layout;

		if (o->raw_ts || f->in->hz)
			l->mult = 0;
		if (o->raw_ts || o->nodate)
			l->ts_offset = 0;
		if (f->in->hz && !o->raw_ts) {
			f->offset = (int64_t)l->ts_offset;
			l->ts_offset = 0;
		}
	}
	if (o->raw_ts)
		return 0;
	if (f->in->hz)
		f->scale = 1e9 / (double)f->in->hz;
	f->moved = f->in->ts_offset;
	f->offset = (int64_t)((uint64_t)f->offset + (uint64_t)f->moved);
	return dat_shifts_read(d, &f->shifts);
}

uint64_t report_time_moved(const struct report_file *f, unsigned int cpu, uint64_t ts)
{
	ts = dat_shifts_apply(&f->shifts, cpu, ts);
	if (f->scale != 0)
		ts = (uint64_t)((double)ts * f->scale);
	return ts + (uint64_t)f->offset;
}

int report_check_time(const struct report_file *f, unsigned int cpu, uint64_t ts)
{
	uint64_t shown, was;

	if (!f->moved)
		return 0;
	shown = report_time(f, cpu, ts);
	was = shown - (uint64_t)f->moved;
	if (f->moved > 0 ? shown >= was : shown <= was)
		return 0;
	return fail(ERANGE, "--ts-offset %" PRId64 ": it would move times of '%s' %s", f->moved,
		    f->in->path, f->moved > 0 ? "beyond 64 bits" : "below 0");
}

/*
 * Can no event pass @filter? libtraceevent makes FALSE of a comparison with a field that the event
 * does not have.
 */
static bool passes_nothing(struct tep_handle *tep, struct tep_event_filter *filter)
{
	struct tep_event *ev;
	bool found = false;

	for (int k = 0; (ev = tep_get_event(tep, k)); k++) {
		char *text = tep_filter_make_string(filter, ev->id);
		bool is_false = text && !strcmp(text, "FALSE");
		bool passes = text && *text && !is_false;

		free(text);
		if (passes)
			return false;
		found |= is_false;
	}
	return found;
}

static int add_filters(struct report *r, struct report_file *f)
{
	const struct report_options *o = r->o;
	size_t i;

	f->filters = calloc(o->nr_filters + 1, sizeof(*f->filters));
	if (!f->filters)
		return dat_no_memory(f->d);
	for (i = 0; i < o->nr_filters; i++) {
		enum tep_errno err;
		char why[256] = "";

		f->filters[i] = tep_filter_alloc(line_tep(f->line));
		if (!f->filters[i])
			return dat_no_memory(f->d);
		err = tep_filter_add_filter_str(f->filters[i], o->filters[i].text);
		if (!err && o->what == REPORT_RECORDS &&
		    passes_nothing(line_tep(f->line), f->filters[i]))
			return fail(EINVAL,
				    "the filter '%s' matches nothing: no event that it names has "
				    "such a field",
				    o->filters[i].text);
		if (!err)
			continue;
		tep_filter_strerror(f->filters[i], err, why, sizeof(why));
		for (char *end = why + strlen(why); end > why && end[-1] == '\n';)
			*--end = '\0';
		return fail(EINVAL, "the filter '%s' is not understood: %s", o->filters[i].text,
			    why);
	}
	return 0;
}

/* Whether libtraceevent's list has a line of @what and the @n bytes at @name. */
static bool lists(const char *list, const char *what, const char *name, size_t n)
{
	for (const char *p = list; (p = strstr(p, what)); p++) {
		const char *at = p + strlen(what);

		at += strspn(at, " \t");
		if (!strncmp(at, name, n) && at[n] == '\n')
			return true;
	}
	return false;
}

/*
 * Check that each -O is an option of a loaded plug-in. (libtraceevent 1.7.1 has two lists of
 * options; the other one overruns its memory.)
 */
static int check_plugin_options(const struct report_options *o)
{
	const char *missing = NULL;
	struct trace_seq list;

	trace_seq_init(&list);
	tep_plugin_print_options(&list);
	trace_seq_putc(&list, '\n');
	trace_seq_terminate(&list);
	for (const char *const *opt = o->plugin_options; opt && *opt && !missing; opt++) {
		const char *colon = strchr(*opt, ':'), *name = colon ? colon + 1 : *opt;

		if (!lists(list.buffer, "option:", name, strcspn(name, "=")))
			missing = *opt;
	}
	trace_seq_destroy(&list);
	if (missing)
		return fail(EINVAL, "no plug-in of libtraceevent has the option '%s'", missing);
	return 0;
}

static int open_file(struct report *r, struct report_file *f)
{
	int ret;

	ret = is_dat(f->in->path) ? dat_open(f->in->path, true, &f->d)
				  : open_other(f->in->path, &f->d);
	if (ret)
		return ret;
	symbols_demangle(f->d->head.symbols, r->o->how);
	ret = set_clock(r->o, f);
	if (!ret)
		ret = line_new(f->d, &r->o->line, &f->line);
	if (!ret)
		ret = add_filters(r, f);
	if (!ret && r->o->wakeup) {
		f->wakeups = report_wakeups_new(f);
		if (!f->wakeups)
			ret = dat_no_memory(f->d);
	}
	return ret;
}

int report_open(struct report *r)
{
	const struct report_options *o = r->o;
	size_t i;
	int ret = 0;

	r->files = calloc(o->nr_inputs + 1, sizeof(*r->files));
	if (!r->files)
		return fail(ENOMEM, "out of memory");
	for (const char *const *opt = o->plugin_options; opt && *opt; opt++) {
		char *name = strdup(*opt), *value = name ? strchr(name, '=') : NULL;

		if (value)
			*value++ = '\0';
		if (!name || tep_plugin_add_option(name, value))
			ret = fail(ENOMEM, "out of memory");
		free(name);
		if (ret)
			return ret;
	}
	for (i = 0; i < o->nr_inputs && !ret; i++) {
		r->files[i].in = &o->inputs[i];
		r->nr_files = i + 1;
		ret = open_file(r, &r->files[i]);
		if (o->nr_inputs > 1 && r->name_width < (int)strlen(o->inputs[i].path))
			r->name_width = (int)strlen(o->inputs[i].path);
	}
	return ret ? ret : check_plugin_options(o);
}

void report_close(struct report *r)
{
	for (size_t i = 0; i < r->nr_files; i++) {
		struct report_file *f = &r->files[i];

		for (size_t k = 0; f->filters && k < r->o->nr_filters; k++)
			if (f->filters[k])
				tep_filter_free(f->filters[k]);
		free(f->filters);
		dat_shifts_free(&f->shifts);
		report_wakeups_free(f->wakeups);
		line_free(f->line);
		if (f->d)
			reader_close(&f->d->head);
	}
	free(r->files);
}

void report_put_cpus(struct report *r, const struct report_file *f)
{
	uint32_t nr = f->d->cpus_given > f->d->head.nr_cpus ? f->d->cpus_given : f->d->head.nr_cpus;

	if (r->nr_files > 1)
		out_printf(&r->out, "%*s: ", r->name_width, f->in->path);
	out_printf(&r->out, "cpus=%u\n", nr);
}

int report_buffer_text(struct report *r, struct report_file *f, const struct dat_buffer *b)
{
	unsigned char *text;
	uint64_t bytes;
	int ret = dat_buffer_text(f->d, b, &text, &bytes);

	if (ret)
		return ret;
	out_safe_lines(&r->out, (const char *)text, strnlen((const char *)text, bytes));
	out_text(&r->out, "\n");
	free(text);
	return 0;
}

void report_plugin_options(struct out *o)
{
	struct tep_handle *tep = tep_alloc();
	struct tep_plugin_list *plugins = tep ? tep_load_plugins(tep) : NULL;
	struct trace_seq list;

	trace_seq_init(&list);
	if (plugins) {
		tep_plugin_print_options(&list);
		out_write(o, list.buffer, list.len);
		tep_unload_plugins(plugins, tep);
		out_text(o, "============\n");
	}
	trace_seq_destroy(&list);
	if (tep)
		tep_free(tep);
	out_text(o, "  plugin:\tfgraph\n  option:\ttailprint\n"
		    "    desc:\tPrint function name at function exit in function graph\n"
		    "     set:\t0\n------------\n"
		    "  plugin:\tfgraph\n  option:\tdepth\n    desc:\tShow the depth of each entry\n"
		    "     set:\t0\n");
}

/* Check --cpu for all buffers, so that a wrong CPU is reported before any output. */
static int check_cpus(const struct report *r)
{
	int ret = 0;

	for (size_t i = 0; r->o->cpus && i < r->nr_files; i++) {
		const struct dat_reader *d = r->files[i].d;

		for (size_t k = 0; k < d->nr_buffers && !ret; k++) {
			bool *cpus = NULL;

			if (!d->buffers[k].is_text)
				ret = cpu_list_parse(r->o->cpus, d->buffers[k].nr_cpus, &cpus);
			free(cpus);
		}
	}
	return ret;
}

int report_print(const struct report_options *o)
{
	struct report r = {.o = o};
	int ret;

	if (out_init(&r.out, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	out_beside(&r.out);
	ret = report_open(&r);
	if (!ret && o->what == REPORT_RECORDS)
		ret = check_cpus(&r);
	if (!ret && o->what == REPORT_RECORDS) {
		for (size_t i = 0; i < r.nr_files; i++)
			report_put_cpus(&r, &r.files[i]);
		ret = report_records(&r);
	}
	for (size_t i = 0; !ret && o->what != REPORT_RECORDS && i < r.nr_files; i++)
		ret = report_list(&r, &r.files[i]);
	ret = out_end_stdout(&r.out, ret, "the report");
	report_close(&r);
	return ret;
}
