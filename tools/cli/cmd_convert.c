/* SPDX-License-Identifier: MIT */
/*
 * vestige convert and recover: a recording in another format. The input file stays, unless the
 * output has its name. Tests: tests/cli/test_convert.py, test_control.py.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/view_flags.h"
#include "tools/export/exporter.h"
#include "tools/record/progress.h"
#include "tools/record/record.h"
#include "tools/text/json.h"

struct options {
	const struct exporter *to;
	bool list, json, plain, quiet, date;
	int64_t ts_offset_ns;
	const char *output;
	uint64_t part_bytes;
	struct view view;
};

/* The stamps of a trace.dat: --date, --ts-offset. */
static int move_stamps(struct reader *r, const struct options *opt)
{
	if (opt->date && !reader_has_date(r))
		return fail(EINVAL, "--date: the clock %s of this recording has no time of day",
			    r->clock);
	reader_move_stamps(r, opt->date, opt->ts_offset_ns);
	return 0;
}

/* @opt: its view is for formats of calls, and is closed. */
static int convert(const char *input, struct options *opt,
		   int (*open)(const char *path, struct reader **out))
{
	const struct exporter *to = opt->to;
	const char *output = opt->output;
	struct reader *r = NULL, *half = NULL;
	struct view *v = &opt->view;
	struct progress p;
	int err;

	progress_begin(&p, output, "Ctrl-C ends the conversion; the input stays", opt->quiet);
	p.part_bytes = opt->part_bytes;
	err = open(input, &r);
	if (!err)
		err = move_stamps(r, opt);
	if (!err && to->of_calls) {
		err = view_use(v, r);
		p.view = v;
		r = v->r;
	} else if (!err) {
		err = record_kernel_half(input, r, &half);
		p.kernel = half;
	}
	if (!err)
		err = progress_write(&p, to, opt->plain, r);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not %s, %s is as it was", output,
			   opt->part_bytes || !strcmp(output, "-") ? "complete" : "written", input);
	if (p.view)
		view_close(p.view);
	else
		reader_close(r);
	reader_close(half);
	return err;
}

static int take_format(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	opt->to = exporter_find(value);
	return opt->to ? 0 : options_bad(p, "not a format of --list", value);
}

/* A number of bytes, or of KiB, MiB or GiB with K, M or G. */
static int take_size(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;
	char *end;
	uint64_t n = strtoull(value, &end, 10);
	unsigned int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;

	if (*value < '1' || *value > '9' || (*end && !shift) || (shift && end[1]) ||
	    n > (uint64_t)INT64_MAX >> shift)
		return options_bad(p, "not a size, as in 100M", value);
	opt->part_bytes = n << shift;
	return 0;
}

/* Units of the stamps, with a sign or without. */
static int take_ts_offset(const struct parsing *p, void *to, const char *value)
{
	return options_take_offset(p, value, &((struct options *)to)->ts_offset_ns);
}

static int take_functions(const struct parsing *p, void *to, const char *value)
{
	return view_take_under(p, &((struct options *)to)->view, value);
}

static int take_tids(const struct parsing *p, void *to, const char *value)
{
	return view_take_tids(p, &((struct options *)to)->view, value);
}

static const struct flag convert_flags[] = {
	{0, "to", "FORMAT",
	 "the format of OUT, one of --list (default: by the end of OUT's name, else dat)",
	 take_format, 0},
	{'o', "output", "OUT", "the same as OUT", NULL, offsetof(struct options, output)},
	{0, "list", NULL, "print the formats", NULL, offsetof(struct options, list)},
	{0, "json", NULL, "with --list: as JSON", NULL, offsetof(struct options, json)},
	{0, "no-native", NULL, "leave out what makes `vestige` read the file faster", NULL,
	 offsetof(struct options, plain)},
	{0, "date", NULL, "stamps in the trace.dat are the time of day", NULL,
	 offsetof(struct options, date)},
	{0, "ts-offset", "NS", "stamps in the trace.dat are NS nanoseconds later", take_ts_offset,
	 0},
	{0, "split-size", "SIZE",
	 "begin a new file, OUT with .001, .002 ... before its suffix, when one has SIZE (100M)",
	 take_size, 0},
	{0, "functions", "FUNC", "the same as --filter", take_functions, 0},
	{0, "tids", "LIST", "the same as --tid", take_tids, 0},
	{'q', NULL, NULL, "no line while the file is written", NULL,
	 offsetof(struct options, quiet)},
	FLAGS_END};

static void print_list(void)
{
	for (const struct exporter *e = exporters; e->name; e++) {
		printf("%-10s %s", e->name, e->help);
		for (unsigned int i = 0; i < 3 && e->suffixes[i]; i++)
			printf("%s%s", i ? ", " : " (", e->suffixes[i]);
		puts(e->suffixes[0] ? ")" : "");
	}
}

static int print_list_json(void)
{
	struct json j = {0};
	struct out o;

	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	j.o = &o;
	json_open(&j, NULL, '[');
	for (const struct exporter *e = exporters; e->name; e++) {
		json_open(&j, NULL, '{');
		json_text(&j, "name", e->name);
		json_text(&j, "what", e->help);
		json_open(&j, "suffixes", '[');
		for (unsigned int i = 0; i < 3 && e->suffixes[i]; i++)
			json_text(&j, NULL, e->suffixes[i]);
		json_close(&j, ']');
		json_bool(&j, "calls", e->of_calls);
		json_bool(&j, "folder", e->is_folder);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	out_text(&o, "\n");
	return out_end_stdout(&o, 0, "the list");
}

static bool asks_for_part(const struct view *v)
{
	return view_has_filters(v) || v->cpu_text || v->demangle != DEMANGLE_SHORT;
}

static int check_format(const struct command *c, const struct options *opt)
{
	if (opt->view.srcline)
		return options_wrong(c, "--srcline: no format has lines of the source");
	if (!opt->to->is_dat && (opt->plain || opt->date || opt->ts_offset_ns))
		return options_wrong(c, "%s goes with the formats dat and dat6",
				     opt->plain	 ? "--no-native"
				     : opt->date ? "--date"
						 : "--ts-offset");
	if (!opt->to->of_calls && asks_for_part(&opt->view))
		return options_wrong(c,
				     "the format %s holds the whole recording: flags that choose "
				     "calls go with formats of calls, see --list",
				     opt->to->name);
	if (opt->to->is_folder && !strcmp(opt->output, "-"))
		return options_wrong(c,
				     "the format %s is a folder: - goes with formats of one file",
				     opt->to->name);
	if (opt->part_bytes && !opt->to->splits)
		return options_wrong(
			c,
			"--split-size: the format %s is one %s; --time-range chooses a "
			"part of it",
			opt->to->name, opt->to->is_folder ? "folder" : "whole");
	if (opt->part_bytes && !strcmp(opt->output, "-"))
		return options_wrong(c, "--split-size makes files: name one instead of -");
	if (!opt->to->of_calls && !strcmp(opt->output, "-"))
		return options_wrong(c, "the format %s is a file: - goes with formats of calls",
				     opt->to->name);
	return -1;
}

/* The end of OUT's name is not one of --list: say which format OUT has. */
static void note_default(const char *output, const struct exporter *to)
{
	const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
	const char *dot = strrchr(name, '.');

	if (dot && dot > name && dot[1])
		note("%s is a trace.dat (the format %s): no format of --list has the suffix %s; "
		     "--to chooses one",
		     output, to->name, dot);
}

static int run_convert(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	const char *input;
	bool by_default;
	int status, err;

	view_init(&opt.view);
	opt.view.cuts = true;
	status = options_parse(c, (void *[]){&opt, &opt.view}, &argc, &argv);
	if (status >= 0)
		return status;
	if (opt.json && !opt.list)
		return options_wrong(c, "--json goes with --list");
	if (opt.json)
		return cmd_end(print_list_json());
	if (opt.list) {
		print_list();
		return 0;
	}
	input = opt.view.path ? opt.view.path : argc ? *argv++ : NULL;
	if (!opt.output && *argv)
		opt.output = *argv++;
	if (!input || !opt.output || *argv)
		return options_wrong(c, "name the input and the output");
	if (!opt.to)
		opt.to = exporter_of_path(opt.output);
	by_default = !opt.to;
	if (by_default)
		opt.to = exporters;
	status = check_format(c, &opt);
	if (status >= 0)
		return status;
	opt.view.path = input;
	/* the native part has the clock's own stamps, which these flags change */
	opt.plain |= opt.date || opt.ts_offset_ns;
	err = convert(input, &opt, reader_open);
	if (!err && by_default && !opt.quiet)
		note_default(opt.output, opt.to);
	return cmd_end(err);
}

const struct command command_convert = {
	.name = "convert",
	.words = "IN OUT",
	.what = "write a recording in another format",
	.help = "Write all of IN into OUT. IN is a recording in the native form\n(`vestige record "
		"--native`), the spool of an interrupted recording, a trace.dat, an\narea, or "
		"what another tool wrote: Chrome's JSON, ftrace's text, perf script's,\n"
		"Perfetto's trace, uftrace's folder, KFT's log, blktrace's files, CTF.\nAn "
		"existing OUT "
		"is replaced when "
		"the new one is "
		"complete.\nFormats of calls (chrome, "
		"folded, csv ...) take the flags that choose calls, and - as\nOUT for stdout. "
		"Their times are nanoseconds of the trace's clock.\n"
		"A call that is open at an end of --time-range, or where a file of --split-size "
		"ends, is\ncut there: the parts add up.\n",
	.flags = (const struct flag *const[]){convert_flags, view_flags, NULL},
	.run = run_convert,
};

static const struct flag recover_flags[] = {
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL, offsetof(struct options, output)},
	FLAGS_END};

static int run_recover(const struct command *c, int argc, char **argv)
{
	struct options opt = {.output = "trace.dat", .to = exporters};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc != 1)
		return options_wrong(c, "name one spool");
	return cmd_end(convert(argv[0], &opt, record_open_killed));
}

const struct command command_recover = {
	.name = "recover",
	.words = "SPOOL",
	.what = "write the spool of a killed recorder into a trace.dat",
	.help = "Write a trace.dat of SPOOL, the file that a killed or interrupted `vestige "
		"record`\nleft, and of the records that are left in the areas of its processes. "
		"SPOOL and the\nareas stay.\n",
	.flags = (const struct flag *const[]){recover_flags, NULL},
	.run = run_recover,
};
