/* SPDX-License-Identifier: MIT */
/* `vestige options`: what -O of `report` takes. Tests: tests/cli/test_dump.py. */
#include "tools/cli/cmd.h"

#include <errno.h>
#include <unistd.h>

#include "tools/base/note.h"
#include "tools/report/report.h"
#include "tools/text/graph_text.h"
#include "tools/text/out.h"

static int run(const struct command *c, int argc, char **argv)
{
	int status = options_parse(c, NULL, &argc, &argv);
	const char *name;
	struct out o;

	if (status >= 0)
		return status;
	if (out_init(&o, STDOUT_FILENO)) {
		note("out of memory");
		return CMD_FAILURE;
	}
	report_plugin_options(&o);
	out_text(&o, "\nOf --format=trace, `no` before it turns one off:\n");
	for (unsigned int i = 0; (name = graph_option_name(i)); i++)
		out_printf(&o, "  %s\n", name);
	return cmd_end(out_end_stdout(&o, 0, "the options"));
}

const struct command command_options = {
	.name = "options",
	.words = "",
	.what = "list the options that report -O takes",
	.help = "List the options that `vestige report -O` takes: those of libtraceevent's "
		"plug-ins, "
		"and the\n"
		"kernel's for function_graph.\n",
	.run = run,
};
