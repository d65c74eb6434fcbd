/* SPDX-License-Identifier: MIT */
/*
 * vestige set: write a control file of a traced process, as `echo TEXT > FILE` in its tracefs.
 * Tests: tests/cli/test_control.py.
 */
#include <stdio.h>
#include <string.h>

#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static const char help[] =
	"usage: vestige set [-P PID] [-B NAME] [--append] FILE TEXT\n"
	"Write TEXT to control file FILE of process PID (default: the only traced one that "
	"lives).\n"
	"\n"
	"  -B NAME       of its instance NAME, as instances/NAME/FILE\n"
	"  -a, --append  as `echo TEXT >> FILE`: lists keep what they have\n"
	"\n"
	"A list of functions takes patterns between blanks: 'parse_* [rw]ead'.\n";

int cmd_set(int argc, char **argv)
{
	bool append = false;
	const struct control_flag flags[] = {{'a', "append", &append, NULL}, {0}};
	struct target t;
	struct control_which which;
	const char *file;
	int status, err;

	status = control_flags("set", help, flags, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc - optind != 2)
		return control_words("set", "name one control file and one text");
	file = argv[optind];
	err = control_open_file(&t, &which, &file);
	if (err)
		return control_end(err);
	err = target_write(&t, file, argv[optind + 1], strlen(argv[optind + 1]), !append);
	target_close(&t);
	return control_end(err);
}
