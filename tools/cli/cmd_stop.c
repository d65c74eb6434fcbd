/* SPDX-License-Identifier: MIT */
/* vestige stop: tracing_on 0; what was recorded stays. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static const char help[] =
	"usage: vestige stop [-P PID] [-B NAME]\n"
	"Stop recording in process PID (default: the only traced one that lives), or in its\n"
	"instance NAME. What is "
	"recorded\n"
	"stays, and tracer and filters too: `vestige set tracing_on 1` goes on.\n";

int cmd_stop(int argc, char **argv)
{
	struct target t;
	struct control_which which;
	int status, err;

	status = control_flags("stop", help, NULL, argc, argv, &which);
	if (status >= 0)
		return status;
	if (argc != optind)
		return control_words("stop", "it takes no words");
	err = control_open(&t, &which, false);
	if (err)
		return control_end(err);
	err = target_write(&t, "tracing_on", "0", 1, true);
	target_close(&t);
	return control_end(err);
}
