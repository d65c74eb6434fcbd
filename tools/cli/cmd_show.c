/* SPDX-License-Identifier: MIT */
/* vestige show: the trace of a process from its area. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int print(struct target *t, const char *file, struct out *o)
{
	(void)file;
	return t->ops->print(t, "trace", o);
}

static int show(struct target *t)
{
	return control_print(t, print, NULL);
}

static int run(const struct command *c, int argc, char **argv)
{
	return control_run(c, argc, argv, show);
}

const struct command command_show = {
	.name = "show",
	.words = "",
	.what = "print what a process has recorded",
	.help = "Print what a process has recorded, as the kernel's trace file. Nothing is "
		"consumed, and\nthe process is not stopped; it may be dead.\n",
	.flags = (const struct flag *const[]){control_flags, NULL},
	.run = run,
};
