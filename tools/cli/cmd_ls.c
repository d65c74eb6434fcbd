/* SPDX-License-Identifier: MIT */
/* vestige ls: the control files of a traced process. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int print(struct target *t, const char *file, struct out *o)
{
	(void)file;
	return t->ops->names(t, o);
}

static int list(struct target *t)
{
	return control_print(t, print, NULL);
}

static int run(const struct command *c, int argc, char **argv)
{
	return control_run(c, argc, argv, list);
}

const struct command command_ls = {
	.name = "ls",
	.words = "",
	.what = "list the control files of a process",
	.help = "List the control files of a process, and its instances. `vestige get` and "
		"`vestige set`\n"
		"take their names.\n",
	.flags = (const struct flag *const[]){control_flags, NULL},
	.run = run,
};
