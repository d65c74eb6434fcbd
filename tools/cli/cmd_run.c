/* SPDX-License-Identifier: MIT */
/*
 * vestige run: runs a program, and all processes that it starts, as a session. Tests:
 * tests/tracefs/test_sessions.py.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/record/launch.h"
#include "tools/target/areas_dir.h"

/* Is it a valid name of a session? It is a folder of the mount, beside the processes' folders. */
static bool is_name(const char *name)
{
	return *name && strlen(name) < sizeof(((struct launch *)0)->session) &&
	       !strchr(name, '/') && *name != '.' && *name != '-' &&
	       !(*name >= '0' && *name <= '9') && strcmp(name, "kernel") != 0;
}

struct flags {
	bool unmodified;
};

static const struct flag flag_rows[] = {
	{0, "unmodified", NULL, "functions that were built without any flag can be traced, too",
	 NULL, offsetof(struct flags, unmodified)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	const char *boot = getenv("VESTIGE_BOOT"), *name;
	struct flags flags = {0};
	struct launch l = {.boot = boot ? boot : ""};
	struct areas_dir dir;
	int status = options_parse(c, (void *[]){&flags}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (argc < 2)
		return options_wrong(c, "name a session and a program");
	name = *argv++;
	if (!is_name(name))
		return options_wrong(
			c,
			"not a name for a session: %s (shorter than 64, no digit first, no "
			"slash)",
			name);
	if (!strcmp(*argv, "--") && !*++argv)
		return options_wrong(c, "name a program behind --");
	err = areas_dir_open(&dir);
	if (!err) {
		l.areas_dir = dir.path;
		err = launch_find(&l, *argv);
	}
	if (!err) {
		l.unmodified = flags.unmodified ? "all" : NULL;
		snprintf(l.session, sizeof(l.session), "%s", name);
		err = launch_exec(&l, argv);
	}
	note("%s", fail_text());
	return err == -ENOENT ? CMD_NOT_FOUND : err == -EACCES ? CMD_CANNOT_EXEC : CMD_OURS;
}

const struct command command_run = {
	.name = "run",
	.words = "NAME -- PROGRAM [ARGS]",
	.what = "run a program and all that it starts as one session",
	.help = "Run PROGRAM with the engine in it and in all programs that it starts, as session "
		"NAME.\nNothing is recorded until recording is switched on: `vestige mount` shows "
		"the session "
		"as a folder\nNAME, whose files act on all its processes together, and `vestige "
		"enter NAME` runs\ntrace-cmd on it. VESTIGE_BOOT can switch recording on from the "
		"start.\n",
	.more = "The exit status is PROGRAM's.\n",
	.flags = (const struct flag *const[]){flag_rows, NULL},
	.runs_program = true,
	.run = run,
};
