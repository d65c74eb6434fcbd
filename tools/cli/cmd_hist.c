/* SPDX-License-Identifier: MIT */
/* `vestige hist`. Tests: tests/cli/test_hist.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include "tools/report/hist.h"

struct options {
	const char *path;
	bool all, json;
};

static const struct flag flags[] = {
	{'i', NULL, "FILE", "the same as FILE", NULL, offsetof(struct options, path)},
	{'P', NULL, NULL, "of all tasks together", NULL, offsetof(struct options, all)},
	{0, "json", NULL, "the table as JSON", NULL, offsetof(struct options, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &opt.path);
	if (status >= 0)
		return status;
	return cmd_end(hist_print(opt.path, opt.all, opt.json));
}

const struct command command_hist = {
	.name = "hist",
	.words = "[FILE]",
	.what = "print how often events and calls happened, by their callers",
	.help = "Print how often each event and call of FILE (default: trace.dat) happened, the "
		"most "
		"frequent\nfirst, and below it a tree of its callers, as `trace-cmd hist` does. "
		"Histograms "
		"of fields are\nhist triggers: vestige-events(7).\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
