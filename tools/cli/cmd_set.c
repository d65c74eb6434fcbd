/* SPDX-License-Identifier: MIT */
/*
 * vestige set: write a control file of a traced process, as `echo TEXT > FILE` in its tracefs.
 * Tests: tests/cli/test_control.py.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

struct set {
	bool append;
};

static const struct flag flags[] = {{'a', "append", NULL,
				     "as `echo TEXT >> FILE`: add to a list, do not replace it",
				     NULL, offsetof(struct set, append)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct set opt = {0};
	const char *file;
	struct target *t;
	int status = options_parse(c, (void *[]){&which, &opt}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (argc != 2)
		return options_wrong(c, "name one control file and one text");
	file = argv[0];
	err = control_open_file(&t, &which, &file);
	if (err)
		return control_end(err);
	err = control_write(t, file, argv[1], !opt.append);
	target_put(t);
	return control_end(err);
}

const struct command command_set = {
	.name = "set",
	.words = "FILE TEXT",
	.what = "write a control file of a process",
	.help = "Write TEXT to control file FILE of a process, as `echo TEXT > FILE`. FILE may be\n"
		"instances/NAME/FILE, too.\n",
	.more = "A list of functions takes patterns between blanks: 'parse_* [rw]ead ns::*'.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	/* a text may begin with a dash */
	.runs_program = true,
	.run = run,
};
