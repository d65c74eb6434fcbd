/* SPDX-License-Identifier: MIT */
/*
 * `vestige restore`: makes a trace.dat of the files of a killed recorder. Tests:
 * tests/cli/test_restore.py.
 */
#include "tools/cli/cmd.h"

#include "tools/record/restore.h"

struct options {
	struct restore_options how;
	bool create;
};

static const struct flag flags[] = {
	{'o', NULL, "FILE", "write FILE (default: trace.dat, with -c trace-partial.dat)", NULL,
	 offsetof(struct options, how.output)},
	{'i', NULL, "FILE", "the partial file of the machine (default: made of this machine)", NULL,
	 offsetof(struct options, how.partial)},
	{'c', NULL, NULL, "write a partial file of this machine, for -i", NULL,
	 offsetof(struct options, create)},
	{'t', NULL, "DIR", "with -c: a copy of the machine's tracefs", NULL,
	 offsetof(struct options, how.tracing)},
	{'k', NULL, "FILE", "with -c: a copy of the machine's /proc/kallsyms", NULL,
	 offsetof(struct options, how.kallsyms)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options o = {0};
	int status = options_parse(c, (void *[]){&o}, &argc, &argv);

	if (status >= 0)
		return status;
	if (o.create && argc)
		return options_wrong(c, "-c takes no files of CPUs: %s", argv[0]);
	if (o.create && o.how.partial)
		return options_wrong(c, "-c writes a partial file, -i reads one");
	if (!o.create && (o.how.tracing || o.how.kallsyms))
		return options_wrong(c, "-%c is of -c", o.how.tracing ? 't' : 'k');
	if (!o.create && !argc)
		return options_wrong(c, "no files of CPUs");
	if (!o.how.output)
		o.how.output = o.create ? "trace-partial.dat" : "trace.dat";
	return cmd_end(o.create ? restore_partial(&o.how) : restore(&o.how, argv, argc));
}

const struct command command_restore = {
	.name = "restore",
	.words = "FILE.cpuN...",
	.what = "make a trace.dat of what a killed trace-cmd left",
	.help = "Make a trace.dat of the files FILE.cpuN, which trace-cmd record or listen leaves "
		"when it is killed.\n`vestige recover` is for a killed `vestige record`.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
