/* SPDX-License-Identifier: MIT */
/* vestige snapshot: the file snapshot. Tests: tests/cli/test_kernel.py. */
#include <errno.h>
#include <stdio.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

struct snapshot {
	bool take, reset, release;
	int cpu; /* -1: all */
};

static int take_cpu(const struct parsing *p, void *to, const char *value)
{
	return options_take_cpu(p, value, &((struct snapshot *)to)->cpu);
}

static const struct flag flags[] = {
	{'s', NULL, NULL, "take a snapshot: the buffer becomes it, and an empty one goes on", NULL,
	 offsetof(struct snapshot, take)},
	{'r', NULL, NULL, "empty it", NULL, offsetof(struct snapshot, reset)},
	{'f', NULL, NULL, "give its memory back", NULL, offsetof(struct snapshot, release)},
	{'c', NULL, "CPU", "the snapshot of one CPU", take_cpu, 0},
	FLAGS_END};

static int print(struct target *t, const char *file, struct out *o)
{
	return t->ops->print(t, file, o);
}

static int act(struct target *t, const struct snapshot *s)
{
	char path[64] = "snapshot";
	struct target_file file;
	int err;

	if (s->cpu >= 0)
		snprintf(path, sizeof(path), "per_cpu/cpu%d/snapshot", s->cpu);
	err = t->ops->find(t, path, &file);
	if (err)
		return err;
	if (s->release)
		return target_set(t, path, "0");
	if (s->reset)
		return target_set(t, path, "2");
	if (s->take)
		return target_set(t, path, "1");
	return control_print(t, print, path);
}

static int run(const struct command *c, int argc, char **argv)
{
	struct control_which which = {0};
	struct snapshot s = {.cpu = -1};
	struct target *t;
	int status = options_parse(c, (void *[]){&which, &s}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (s.take + s.reset + s.release > 1)
		return options_wrong(c, "-s, -r and -f: one at a time");
	err = control_open(&t, &which, false);
	if (err)
		return cmd_end(err);
	err = act(t, &s);
	target_put(t);
	return cmd_end(err);
}

const struct command command_snapshot = {
	.name = "snapshot",
	.words = "",
	.what = "take, print and release the snapshot of a process",
	.help = "Without -s, -r and -f: print the snapshot of a process.\n",
	.flags = (const struct flag *const[]){control_flags, flags, NULL},
	.run = run,
};
