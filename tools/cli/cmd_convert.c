/* SPDX-License-Identifier: MIT */
/*
 * vestige convert and recover: a recording in another format. What is read stays, unless the output
 * has its name. Tests: tests/cli/test_convert.py, test_control.py.
 */
#include <errno.h>
#include <stdio.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/export/exporter.h"
#include "tools/record/progress.h"

static int convert(const char *input, const char *output, const struct exporter *to, bool plain,
		   bool quiet, int (*open)(const char *path, struct reader **out))
{
	struct reader *r = NULL;
	struct progress p;
	int err;

	progress_begin(&p, output, "Ctrl-C ends this and loses nothing: the input stays", quiet);
	err = open(input, &r);
	if (!err)
		err = progress_write(&p, to, plain, r);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not written, %s is as it was", output, input);
	reader_close(r);
	return err;
}

struct options {
	const struct exporter *to;
	bool list, plain, quiet;
	const char *output;
};

static int take_format(const struct parsing *p, void *to, const char *value)
{
	struct options *opt = to;

	opt->to = exporter_find(value);
	return opt->to ? 0 : options_bad(p, "not a format of --list", value);
}

static const struct flag convert_flags[] = {
	{0, "to", "FORMAT", "the format of OUT, one of --list (default: dat)", take_format, 0},
	{0, "list", NULL, "print the formats", NULL, offsetof(struct options, list)},
	{0, "no-native", NULL, "leave out what makes `vestige` read the file faster", NULL,
	 offsetof(struct options, plain)},
	{'q', NULL, NULL, "no line while the file is written", NULL,
	 offsetof(struct options, quiet)},
	FLAGS_END};

static int run_convert(const struct command *c, int argc, char **argv)
{
	struct options opt = {.to = exporters};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (opt.list) {
		for (const struct exporter *e = exporters; e->name; e++)
			printf("%-8s %s\n", e->name, e->help);
		return 0;
	}
	if (argc != 2)
		return options_wrong(c, "name the input and the output");
	return control_end(convert(argv[0], argv[1], opt.to, opt.plain, opt.quiet, reader_open));
}

const struct command command_convert = {
	.name = "convert",
	.words = "IN OUT",
	.what = "write a recording in another format",
	.help = "Write all of IN into OUT. IN is a recording in the native form\n(`vestige record "
		"--native`), the spool of an interrupted recording, a trace.dat or\nan area. An "
		"existing OUT is replaced when the new one is complete.\n",
	.flags = (const struct flag *const[]){convert_flags, NULL},
	.run = run_convert,
};

static const struct flag recover_flags[] = {
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL, offsetof(struct options, output)},
	FLAGS_END};

static int run_recover(const struct command *c, int argc, char **argv)
{
	struct options opt = {.output = "trace.dat"};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (argc != 1)
		return options_wrong(c, "name one spool");
	return control_end(
		convert(argv[0], opt.output, exporters, false, false, reader_open_spool));
}

const struct command command_recover = {
	.name = "recover",
	.words = "SPOOL",
	.what = "write the spool of a killed recorder into a trace.dat",
	.help = "Write a trace.dat of SPOOL, the file that a killed or interrupted `vestige "
		"record`\nleft. SPOOL stays. The same as `vestige convert SPOOL FILE`.\n",
	.flags = (const struct flag *const[]){recover_flags, NULL},
	.run = run_recover,
};
