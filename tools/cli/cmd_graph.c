/* SPDX-License-Identifier: MIT */
/*
 * `vestige graph`: the command; text/graph_tree.c prints. Tests: tests/cli/test_views.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/pager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/base/fail.h"
#include "tools/cli/view_flags.h"
#include "tools/text/graph_tree.h"

/*
 * Is the word a recording? A program may have the name of a function, so try to open it. @why: why
 * an existing file is none, in @room bytes.
 */
static bool is_recording(const char *word, char *why, size_t room)
{
	struct stat st;
	struct reader *r;

	if (strchr(word, '/'))
		return true;
	if (stat(word, &st))
		return false;
	if (reader_open(word, &r)) {
		snprintf(why, room, "%s", fail_text());
		return false;
	}
	reader_close(r);
	return true;
}

/*
 * The word is no recording, for the reason @why, and no function of trace.dat: that has no such
 * call, or no calls at all.
 */
static int neither(const struct view *v, const char *why)
{
	char other[512];

	if (!v->r)
		return fail(ENOENT, "%s", why);
	snprintf(other, sizeof(other), "%s", fail_text());
	return fail(ENOENT, "%s, and %s", why, other);
}

static const struct flag flags[] = {
	{0, "threads", NULL, "a tree for each thread", NULL,
	 offsetof(struct graph_options, threads)},
	{0, "json", NULL, "the table as JSON", NULL, offsetof(struct graph_options, json)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct graph_options opt = {0};
	char why[512] = "";
	struct view v;
	int status, ret;

	view_init(&v);
	status = options_parse(c, (void *[]){&v, &opt}, &argc, &argv);
	if (status >= 0)
		return status;
	/* one word is a function, unless it is a recording; of two words the second is the file */
	if (argc > 2 || (argc == 2 && v.path))
		return options_wrong(c, "one function and one file; one more is %s",
				     argv[argc - 1]);
	if (argc == 2)
		v.path = argv[1];
	if (argc == 1 && !v.path && is_recording(argv[0], why, sizeof(why)))
		v.path = argv[0];
	else if (argc)
		opt.function = argv[0];
	ret = graph_tree_print(&v, &opt);
	if ((ret == -ENOENT || ret == -EINVAL) && *why)
		ret = neither(&v, why);
	ret = cmd_end(ret);
	view_close(&v);
	return ret;
}

const struct command command_graph = {
	.name = "graph",
	.words = "[FUNC] [FILE]",
	.what = "print a recording's tree of calls, or one function's",
	.help = "Print the tree of calls of FILE (a trace.dat, a spool or an area of "
		"function_graph;\ndefault: trace.dat): for each path of calls to a function, the "
		"number of calls, their total time, their\ntime without the calls beneath, and the "
		"average, minimum and maximum of a call.\nWith FUNC (a glob): its callers, and the "
		"tree beneath it.\nWhere stacks of coroutines or signal handlers were suspended, "
		"SUSPENDED is the\ntime in which the function was the innermost call of such a "
		"stack. TOTAL includes\nit, SELF does not.\n",
	.flags = (const struct flag *const[]){view_flags, flags, pager_flags, NULL},
	.run = run,
};
