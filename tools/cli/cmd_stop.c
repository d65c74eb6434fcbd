/* SPDX-License-Identifier: MIT */
/* vestige stop: tracing_on 0; the records stay. Tests: tests/cli/test_control.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int stop(struct target *t)
{
	return target_set(t, "tracing_on", "0");
}

static int run(const struct command *c, int argc, char **argv)
{
	return control_run(c, argc, argv, stop);
}

const struct command command_stop = {
	.name = "stop",
	.words = "",
	.what = "stop recording in a process",
	.help = "Stop recording in a process. The records, the tracer and the filters "
		"stay:\n`vestige set tracing_on 1` goes on.\n",
	.flags = (const struct flag *const[]){control_flags, NULL},
	.run = run,
};
