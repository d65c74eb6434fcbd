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
	static const struct option longs[] = {
		{"append", no_argument, NULL, 'a'}, {"help", no_argument, NULL, 'h'}, {0}};
	bool append = false;
	struct target t;
	struct control_which which = {0};
	const char *file;
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:P:B:ah", longs, NULL)) != -1) {
		switch (c) {
		case 'P':
			which.pid = control_parse_pid("set", optarg);
			if (which.pid < 0)
				return CMD_USAGE;
			break;
		case 'B':
			which.instance = optarg;
			break;
		case 'a':
			append = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("set", c, argv);
		}
	}
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
