/* SPDX-License-Identifier: MIT */
/* vestige clear: empty the buffer, nothing else. Tests: tests/cli/test_kernel.py. */
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static int clear(struct target *t, const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return target_set(t, "trace", "");
}

static const struct flag flags[] = {{'a', NULL, NULL,
				     "all buffers: of the process itself and of its instances",
				     NULL, offsetof(struct control_buffers, all)},
				    FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct control_buffers b = {0};
	int status = options_parse(c, (void *[]){&b, &b}, &argc, &argv);

	if (status >= 0)
		return status;
	b.top = b.all;
	return control_buffers_run(&b, clear, NULL);
}

const struct command command_clear = {
	.name = "clear",
	.words = "",
	.what = "empty the buffer of a process",
	.help = "Empty the buffer of a process. Tracer, filters and events stay as they are.\n",
	.flags = (const struct flag *const[]){control_buffers_flags, flags, NULL},
	.run = run,
};
