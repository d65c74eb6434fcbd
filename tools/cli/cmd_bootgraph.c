/* SPDX-License-Identifier: MIT */
/* `vestige bootgraph`: when the initialisers ran, as SVG. Tests: tests/engine/tracers/initcall. */
#include "tools/cli/file_text.h"
#include "tools/cli/pager.h"
#include "tools/text/boot_graph.h"

struct options {
	bool json;
};

static const struct flag flags[] = {{0, "json", NULL,
				     "the initialisers as JSON, in place of the picture", NULL,
				     offsetof(struct options, json)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct options opt = {0};
	const char *path = NULL;
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status < 0)
		status = cmd_take_file(c, argc, argv, &path);
	if (status >= 0)
		return status;
	return cmd_end(
		file_text_print(path, opt.json ? boot_graph_json : boot_graph_print, "the graph"));
}

const struct command command_bootgraph = {
	.name = "bootgraph",
	.words = "[FILE]",
	.what = "draw when the initialisers of a program ran (SVG)",
	.help = "Print a picture of FILE, a recording of the tracer initcall (default: "
		"trace.dat):\n"
		"a bar for each initialiser, in the order in which they began.\n"
		"\n"
		"  vestige record -p initcall ./program && vestige bootgraph > boot.svg\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
