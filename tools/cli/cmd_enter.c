/* SPDX-License-Identifier: MIT */
/* vestige enter: programs that know the kernel's tracefs, on a process. Tests: tests/tracefs/. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/mount/enter.h"

static const char help[] = "usage: vestige enter [PID|SESSION] [-- COMMAND [ARGS]]\n"
			   "Run COMMAND (default: a shell) where /sys/kernel/tracing is the tree "
			   "of process PID (default:\n"
			   "the only traced one that lives) and /proc/kallsyms its symbols: "
			   "trace-cmd and scripts for the\n"
			   "kernel's ftrace work on the process. Nobody else sees a change. Needs "
			   "root, or user namespaces\n"
			   "and a /dev/fuse that may be opened.\n"
			   "The exit status is COMMAND's; 125 when it could not be started.\n";

int cmd_enter(int argc, char **argv)
{
	static const struct option longs[] = {
		{"pid", required_argument, NULL, 'P'}, {"help", no_argument, NULL, 'h'}, {0}};
	char *shell[] = {getenv("SHELL"), NULL}, sh[] = "/bin/sh", name[16];
	const char *session = NULL;
	struct target t;
	int pid = 0, c, err, status = CMD_OURS;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:P:h", longs, NULL)) != -1) {
		switch (c) {
		case 'P':
			pid = control_parse_pid("enter", optarg);
			if (pid < 0)
				return CMD_USAGE;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("enter", c, argv);
		}
	}
	/* getopt has stepped over a `--` that comes first */
	if (optind < argc && strcmp(argv[optind - 1], "--")) {
		if (*argv[optind] >= '0' && *argv[optind] <= '9' && !strchr(argv[optind], '-')) {
			pid = control_parse_pid("enter", argv[optind]);
			if (pid < 0)
				return CMD_USAGE;
		} else {
			session = argv[optind];
		}
		optind++;
		if (optind < argc && strcmp(argv[optind], "--"))
			return control_words("enter", "a command stands behind --");
		optind += optind < argc;
	}
	if (!shell[0] || !*shell[0])
		shell[0] = sh;
	err = session ? target_open_session(&t, session) : target_open(&t, pid);
	if (!err) {
		snprintf(name, sizeof(name), "%d", t.pid);
		err = enter_run(session ? session : name, &t, optind < argc ? argv + optind : shell,
				&status);
		target_close(&t);
	}
	if (err) {
		note("%s", fail_text());
		return CMD_OURS;
	}
	return status;
}
