/* SPDX-License-Identifier: MIT */
/* `vestige detach PID`. engine/control/detach.c does it. Tests: tests/cli/test_attach.py. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

struct detach_flags {
	bool quiet;
};

static const struct flag flags[] = {{'q', "quiet", NULL, "print nothing on success", NULL,
				     offsetof(struct detach_flags, quiet)},
				    FLAGS_END};

static int detach(int pid)
{
	struct target *t;
	int err = control_open(&t, &(struct control_which){.pid = pid}, false);

	if (err)
		return err;
	err = target_set(t, "vestige_attached", "0");
	if (err == -EBUSY)
		err = fail(EBUSY, "process %d is traced still: another command has switched it on",
			   pid);
	target_put(t);
	return err;
}

static int run(const struct command *c, int argc, char **argv)
{
	struct detach_flags f = {0};
	int pid = 0, status = options_parse(c, (void *[]){&pid, &f}, &argc, &argv), err;

	if (status >= 0)
		return status;
	status = control_pid(c, argc, argv, &pid);
	if (status)
		return status;
	err = detach(pid);
	if (!err && !f.quiet)
		note("nothing of process %d passes through the engine, which stays and sleeps: "
		     "vestige start -P %d wakes it",
		     pid, pid);
	return cmd_end(err);
}

const struct command command_detach = {
	.name = "detach",
	.words = "PID",
	.what = "end all tracing of a process, and let its engine sleep",
	.help = "Switch everything off in process PID that traces, remove its instances and "
		"dynamic\nevents, and make the program's code and tables as they were. The "
		"library stays, and\nits agent sleeps: `vestige attach PID` and `vestige start -P "
		"PID` wake it.\n",
	.flags = (const struct flag *const[]){control_pid_flags, flags, NULL},
	.run = run,
};
