/* SPDX-License-Identifier: MIT */
/* `vestige replay`: the graph of calls with durations. Tests: tests/cli/test_views.py. */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/replay.h"
#include "tools/cli/view.h"

static const char usage[] =
	"usage: vestige replay [FLAGS] [FILE]\n"
	"\n"
	"Print who called whom, and how long it took, in order of time, from FILE (a trace.dat, a\n"
	"spool or an area of function_graph; default: trace.dat). A call beneath which nothing is\n"
	"shown takes one line.\n"
	"\n" VIEW_HELP "      --column      a column for each thread\n"
	"  -h, --help        print this\n";

enum { COLUMN = VIEW_OWN };

int cmd_replay(int argc, char **argv)
{
	static const struct option options[] = {
		VIEW_OPTIONS, {"column", no_argument, NULL, COLUMN}, {0}};
	struct replay_options opt = {0};
	struct view v;
	int c, ret;

	view_init(&v, "replay");
	opterr = 0;
	optind = 0;
	while ((c = getopt_long(argc, argv, VIEW_LETTERS, options, NULL)) >= 0) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == COLUMN) {
			opt.column = true;
			continue;
		}
		ret = view_option(&v, c, argv);
		if (ret)
			return ret;
	}
	if (argc - optind > (v.path ? 0 : 1))
		return view_bad(&v, "one file at a time; one more is",
				argv[v.path ? optind : optind + 1]);
	if (optind < argc)
		v.path = argv[optind];
	ret = view_open(&v);
	if (!ret)
		ret = replay_print(&v, &opt);
	if (ret)
		note("%s", fail_text());
	view_close(&v);
	return ret ? CMD_FAILURE : 0;
}
