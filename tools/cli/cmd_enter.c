/* SPDX-License-Identifier: MIT */
/*
 * vestige enter: runs programs that only know the kernel's tracefs on a process. Tests:
 * tests/tracefs/.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/mount/enter.h"

static int run(const struct command *c, int argc, char **argv)
{
	char *shell[] = {getenv("SHELL"), NULL}, sh[] = "/bin/sh", pid_name[16];
	unsigned long long number;
	const char *name = NULL;
	char found[sizeof(((struct target *)0)->name)];
	int pid = 0, err, status;
	struct target *t;

	status = options_parse(c, (void *[]){&pid}, &argc, &argv);
	if (status >= 0)
		return status;
	if (argc && strcmp(*argv, "--")) {
		if (options_number(*argv, INT_MAX, &number))
			pid = (int)number;
		else if (**argv >= '0' && **argv <= '9' && !strchr(*argv, '-'))
			return options_wrong(c, "not a process id: %s", *argv);
		else
			name = *argv;
		argv++;
		argc--;
		if (argc && strcmp(*argv, "--"))
			return options_wrong(c, "write a command behind --, as in -- %s", *argv);
	}
	if (argc && !strcmp(*argv, "--")) {
		argv++;
		argc--;
	}
	if (!shell[0] || !*shell[0])
		shell[0] = sh;
	status = CMD_OURS;
	snprintf(pid_name, sizeof(pid_name), "%d", pid);
	t = target_get(name ? name : pid ? pid_name : NULL, NULL, &err);
	if (t) {
		/* close all its files: in a user namespace their owner would be another user */
		snprintf(found, sizeof(found), "%s", t->name);
		target_put(t);
		err = enter_run(found, argc ? argv : shell, &status);
	}
	if (!t || err) {
		note("%s", fail_text());
		return CMD_OURS;
	}
	return status;
}

const struct command command_enter = {
	.name = "enter",
	.words = "[PID|SESSION] [-- COMMAND [ARGS]]",
	.what = "run trace-cmd or another tool of the kernel's on a process",
	.help = "Run COMMAND (default: a shell) where /sys/kernel/tracing is the tree of process "
		"PID\n(default: the only live traced one) and /proc/kallsyms has its symbols: "
		"trace-cmd\nand scripts for the kernel's ftrace work on the process. No other "
		"process sees a change.\nNeeds root, or user namespaces and a /dev/fuse that may "
		"be opened.\n",
	.more = "The exit status is COMMAND's; 125 when it could not be started.\n",
	.flags = (const struct flag *const[]){control_pid_flags, NULL},
	.runs_program = true,
	.keeps_dashes = true,
	.run = run,
};
