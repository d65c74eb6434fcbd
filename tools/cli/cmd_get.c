/* SPDX-License-Identifier: MIT */
/*
 * vestige get: read a control file of a target, as `cat` in its tracefs.
 * Tests: tests/cli/test_control.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int print(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct target *t;
	const char *file;
	int status = options_parse(c, (void *[]){&which}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (argc != 1)
		return options_wrong(c, "name one control file");
	file = argv[0];
	err = control_open_file(&t, &which, &file);
	if (err)
		return cmd_end(err);
	err = control_print(t, print, file);
	target_put(t);
	return cmd_end(err);
}

const struct command command_get = {
	.name = "get",
	.words = "FILE",
	.what = "read a control file of a process",
	.help = "Print a control file of a process. `vestige ls` lists the files. A stopped or "
		"dead process leaves them as they were. FILE may be instances/NAME/FILE, too.\n",
	.flags = (const struct flag *const[]){control_flags, NULL},
	.run = run,
};
