/* SPDX-License-Identifier: MIT */
/*
 * `vestige share`: makes a copy of a recording that can be given to others. Tests:
 * tests/cli/test_share.py.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/view_flags.h"
#include "tools/export/share.h"

struct options {
	struct view view;
	bool quiet;
};

static int take_range(const struct parsing *p, void *to, const char *value)
{
	return view_take_range(p, &((struct options *)to)->view, value);
}

static int take_tids(const struct parsing *p, void *to, const char *value)
{
	return view_take_tids(p, &((struct options *)to)->view, value);
}

static const struct flag flags[] = {
	{'r', "time-range", "FROM~TO",
	 "only what is in this time: with a unit, since the first record (10ms~20ms), without one, "
	 "seconds of the trace's clock; either may be left out",
	 take_range, 0},
	{0, "tid", "LIST", "only these threads: 4711,4712", take_tids, 0},
	{'q', NULL, NULL, "no table of what remains", NULL, offsetof(struct options, quiet)},
	FLAGS_END};

static int print(const struct share_counts *before, const struct share_counts *after)
{
	struct out o;

	if (out_init(&o, STDOUT_FILENO))
		return fail(ENOMEM, "out of memory");
	share_print(&o, before, after);
	return out_end_stdout(&o, 0, "the table");
}

static int run(const struct command *c, int argc, char **argv)
{
	struct share_counts before, after;
	struct options opt = {0};
	int status, err;

	view_init(&opt.view);
	status = options_parse(c, (void *[]){&opt}, &argc, &argv);
	if (status >= 0)
		return status;
	if (argc != 2)
		return options_wrong(c, "name the recording, and the file that is to be written");
	if (!strcmp(argv[1], "-"))
		return options_wrong(c, "a trace.dat is a file: name it instead of -");
	err = share(argv[0], argv[1], &opt.view, &before, &after);
	if (!err && !opt.quiet)
		err = print(&before, &after);
	return cmd_end(err);
}

const struct command command_share = {
	.name = "share",
	.words = "IN OUT",
	.what = "write the calls of a recording alone, to give to others",
	.help = "Write OUT, a trace.dat of the calls in IN: functions by name, times, CPUs and the "
		"numbers of threads.\nIt has no arguments and results, events, marks, names of "
		"threads, command line, paths and name of the\nmachine. A table says what IN has "
		"and "
		"what OUT has. Names of functions and of objects (without folders) stay.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
