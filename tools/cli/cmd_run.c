/* SPDX-License-Identifier: MIT */
/* vestige run: a program and all that it starts as a session. Tests: tests/tracefs/test_sessions.py. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/cli/launch.h"
#include "tools/target/areas_dir.h"

static const char help[] =
	"usage: vestige run NAME -- PROGRAM [ARGS]\n"
	"Run PROGRAM with the engine in it and in all that it starts, as session NAME. Nothing is\n"
	"recorded until somebody says so: `vestige mount` shows the session as a folder NAME, "
	"whose\n"
	"files are those of all its processes together, and `vestige enter NAME` lets trace-cmd at "
	"it.\n"
	"VESTIGE_BOOT may say what is on from the start. The exit status is PROGRAM's.\n";

/* A folder of the mount beside those of processes. */
static int check_name(const char *name)
{
	if (!*name || strlen(name) >= sizeof(((struct launch *)0)->session) || strchr(name, '/') ||
	    *name == '.' || *name == '-' || (*name >= '0' && *name <= '9') ||
	    !strcmp(name, "kernel")) {
		note("run: not a name for a session: %s (shorter than 64, no digit first, no "
		     "slash)",
		     name);
		return CMD_USAGE;
	}
	return 0;
}

int cmd_run(int argc, char **argv)
{
	static const struct option longs[] = {{"help", no_argument, NULL, 'h'}, {0}};
	const char *boot = getenv("VESTIGE_BOOT"), *name;
	struct launch l = {.boot = boot ? boot : ""};
	struct areas_dir dir;
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:h", longs, NULL)) != -1) {
		if (c != 'h')
			return control_usage("run", c, argv);
		fputs(help, stdout);
		return 0;
	}
	if (argc - optind < 2)
		return control_words("run", "name a session and a program");
	name = argv[optind++];
	if (check_name(name))
		return CMD_USAGE;
	if (!strcmp(argv[optind], "--") && ++optind == argc)
		return control_words("run", "name a program behind --");
	err = areas_dir_open(&dir);
	if (!err) {
		l.areas_dir = dir.path;
		err = launch_find(&l, argv[optind]);
	}
	if (!err) {
		snprintf(l.session, sizeof(l.session), "%s", name);
		err = launch_exec(&l, argv + optind);
	}
	note("%s", fail_text());
	return err == -ENOENT ? CMD_NOT_FOUND : err == -EACCES ? CMD_CANNOT_EXEC : CMD_OURS;
}
