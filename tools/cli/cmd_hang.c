/* SPDX-License-Identifier: MIT */
/* `vestige hang PID`: the command; target/hang.c prints. Tests: tests/cli/test_hang.py. */
#include "tools/cli/cmd.h"

#include <unistd.h>

#include "tools/base/note.h"
#include "tools/cli/control.h"
#include "tools/cli/pager.h"
#include "tools/target/hang.h"

static const struct flag flags[] = {{0, "json", NULL, "the threads as JSON", NULL, 0}, FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct out o;
	bool json = false;
	int pid = 0, status = options_parse(c, (void *[]){&pid, &json}, &argc, &argv), ret, err;

	if (status >= 0)
		return status;
	status = control_pid(c, argc, argv, &pid);
	if (status)
		return status;
	if (out_init(&o, STDOUT_FILENO)) {
		note("out of memory for the output");
		return CMD_FAILURE;
	}
	ret = hang_print(pid, json, &o);
	err = out_end_stdout(&o, ret < 0 ? ret : 0, "the threads");
	return cmd_end(err);
}

const struct command command_hang = {
	.name = "hang",
	.words = "PID",
	.what = "show what the threads of a process that is stuck wait for",
	.help = "Print for each thread of process PID what it waits for, for how long, which "
		"thread\nholds that, and its stack; first the cycles of threads that wait for each "
		"other. PID need not\nbe traced.\n",
	.flags = (const struct flag *const[]){control_pid_flags, flags, pager_flags, NULL},
	.run = run,
};
