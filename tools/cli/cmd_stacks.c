/* SPDX-License-Identifier: MIT */
/* `vestige stacks`: samples by stack, folded. Tests: tests/engine/tracers/sysprof. */
#include "tools/cli/file_text.h"
#include "tools/cli/pager.h"
#include "tools/text/folded_text.h"

static const struct flag flags[] = {FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	return file_text_run(c, argc, argv, folded_text_print, "the stacks");
}

const struct command command_stacks = {
	.name = "stacks",
	.words = "[FILE]",
	.what = "where a program's CPU time went, by stack (folded)",
	.help = "Print a line for each stack in FILE, a recording of the tracer sysprof (default:\n"
		"trace.dat): the thread's name and its functions from the outermost to the\n"
		"innermost, with ; between them, and the number of samples.\n"
		"\n"
		"  vestige record -p sysprof ./program && vestige stacks | flamegraph.pl > "
		"cpu.svg\n",
	.flags = (const struct flag *const[]){flags, pager_flags, NULL},
	.run = run,
};
