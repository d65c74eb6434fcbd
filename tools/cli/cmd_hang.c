/* SPDX-License-Identifier: MIT */
/* `vestige hang PID`: the command; target/hang.c prints. Tests: tests/cli/test_hang.py. */
#include "tools/cli/cmd.h"

#include <limits.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/target/hang.h"

static int run(const struct command *c, int argc, char **argv)
{
	unsigned long long pid;
	struct out o;
	int status = options_parse(c, NULL, &argc, &argv), ret, err;

	if (status >= 0)
		return status;
	if (argc != 1 || !options_number(argv[0], INT_MAX, &pid))
		return options_wrong(c, "one process is named by its number: vestige hang PID");
	if (out_init(&o, STDOUT_FILENO)) {
		note("no memory for the output");
		return CMD_FAILURE;
	}
	ret = hang_print((int)pid, &o);
	err = out_end_stdout(&o, ret < 0 ? ret : 0, "the threads");
	if (!err)
		return 0;
	note("%s", fail_text());
	return CMD_FAILURE;
}

const struct command command_hang = {
	.name = "hang",
	.words = "PID",
	.what = "show what the threads of a process that makes no progress wait for",
	.help = "Print for each thread of process PID what it waits for, for how long, which "
		"thread\nholds that, and its stack; first the cycles of threads that wait for each "
		"other. PID need not\nbe traced.\n",
	.run = run,
};
