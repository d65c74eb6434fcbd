/* SPDX-License-Identifier: MIT */
/*
 * vestige extract: a trace.dat of the records in a process's ring, while the process runs on.
 * Tests: tests/cli/test_control.py.
 */
#include <errno.h>
#include <stdio.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/record/progress.h"

struct extract {
	const char *output;
	bool native;
};

static int extract(const struct control_which *which, const struct extract *opt)
{
	const struct exporter *to = opt->native ? exporter_find("native") : exporters;
	const char *output = opt->output;
	struct progress p;
	struct target *t;
	struct reader *r = NULL;
	int err = control_open(&t, which, false);

	if (err)
		return err;
	progress_begin(&p, output, "Ctrl-C ends this; the process keeps what it has recorded",
		       false);
	err = t->ops->records(t, &r);
	if (!err)
		err = progress_write(&p, to, true, r);
	if (progress_end(&p) && err)
		err = fail(EINTR, "interrupted: %s is not written", output);
	reader_close(r);
	target_put(t);
	return err;
}

static const struct flag flags[] = {
	{'o', NULL, "FILE", "output (default: trace.dat)", NULL, offsetof(struct extract, output)},
	{0, "native", NULL,
	 "the output is the native form, which `vestige` alone reads: `vestige convert` makes a "
	 "trace.dat of it",
	 NULL, offsetof(struct extract, native)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct extract opt = {.output = "trace.dat"};
	struct control_which which = {0};
	int status = options_parse(c, (void *[]){&which, &opt}, &argc, &argv);

	if (status >= 0)
		return status;
	return cmd_end(extract(&which, &opt));
}

const struct command command_extract = {
	.name = "extract",
	.words = "",
	.what = "write what a process has recorded into a trace.dat",
	.help = "Write what a process has recorded into a trace.dat. The process is not stopped "
		"and\nits buffer is not emptied; it may be dead.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
