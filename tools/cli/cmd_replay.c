/* SPDX-License-Identifier: MIT */
/* `vestige replay`: the graph of calls with durations. Tests: tests/cli/test_views.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli/view_flags.h"
#include "tools/text/replay.h"

static const struct flag flags[] = {{0, "column", NULL, "a column for each thread", NULL,
				     offsetof(struct replay_options, column)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct replay_options opt = {0};
	struct view v;
	int status = view_parse(&v, c, &opt, argc, argv), ret;

	if (status >= 0)
		return status;
	ret = view_open_calls(&v);
	if (!ret)
		ret = replay_print(&v, &opt);
	ret = cmd_end(ret);
	view_close(&v);
	return ret;
}

const struct command command_replay = {
	.name = "replay",
	.words = "[FILE]",
	.what = "print a recording's calls with their durations",
	.help = "Print each call, what it called and how long it took, in order of time, from FILE "
		"(a trace.dat, a\nspool or an area of function_graph; default: trace.dat). A call "
		"without\nshown calls of its own takes one line. Events of a thread whose calls "
		"are shown\nare comments between them, also events of the kernel's buffer of "
		"`record -k`.\n",
	.flags = (const struct flag *const[]){view_flags, flags, pager_flags, NULL},
	.run = run,
};
