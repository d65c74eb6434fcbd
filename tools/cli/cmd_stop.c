/* SPDX-License-Identifier: MIT */
/*
 * vestige stop and vestige restart: tracing_on 0 and 1; the records stay.
 * Tests: tests/cli/test_control.py, tests/cli/test_kernel.py.
 */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int set(struct target *t, const char *name, void *arg)
{
	(void)name;
	return target_set(t, "tracing_on", arg);
}

static const struct flag flags[] = {{'a', NULL, NULL, "all its instances, not the process itself",
				     NULL, offsetof(struct control_buffers, all)},
				    {'t', NULL, NULL, "with -B or -a: the process itself, too",
				     NULL, offsetof(struct control_buffers, top)},
				    FLAGS_END};

static int switch_to(const struct command *c, int argc, char **argv, const char *to)
{
	struct control_buffers b = {0};
	int status = options_parse(c, (void *[]){&b, &b}, &argc, &argv);

	if (status >= 0)
		return status;
	return control_buffers_run(&b, set, (void *)to);
}

static int run_stop(const struct command *c, int argc, char **argv)
{
	return switch_to(c, argc, argv, "0");
}

static int run_restart(const struct command *c, int argc, char **argv)
{
	return switch_to(c, argc, argv, "1");
}

const struct command command_stop = {
	.name = "stop",
	.words = "",
	.what = "stop recording in a process",
	.help = "Stop recording in a process. The records, the tracer and the filters "
		"stay:\n`vestige restart` goes on.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, NULL},
	.run = run_stop,
};

const struct command command_restart = {
	.name = "restart",
	.words = "",
	.what = "go on recording in a process",
	.help = "Go on recording after `vestige stop`. The records, the tracer and the "
		"filters\nare unchanged.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, NULL},
	.run = run_restart,
};
