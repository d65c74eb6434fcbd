/* SPDX-License-Identifier: MIT */
/* vestige mount: the control files of traced processes as files. Tests: tests/tracefs/. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/note.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/target/areas.h"
#include "tools/mount/mount.h"

/* Find or make the folder; its absolute path. Return: 0 or -errno with fail() set. */
static int make_dir(const char *named, char path[PATH_MAX])
{
	char standard[PATH_MAX];
	int err;

	if (!named) {
		err = mount_default_dir(standard, sizeof(standard));
		if (err)
			return err;
		named = standard;
	}
	if (mkdir(named, 0755) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", named);
	if (!realpath(named, path))
		return fail_errno(errno, "cannot use %s", named);
	if (areas_are_below(path))
		return fail(EBUSY,
			    "cannot mount on '%s': it would hide the processes' areas, which are "
			    "there: name another folder",
			    path);
	if (!strcmp(path, "/proc"))
		return fail(EBUSY, "cannot mount on /proc: name another folder");
	if (mount_is_ours(path))
		return fail(EBUSY, "%s is mounted already (`vestige umount` unmounts it)", path);
	return 0;
}

static const struct flag flags[] = {
	{'f', "foreground", NULL,
	 "serve until interrupted or unmounted, instead of in the background", NULL,
	 offsetof(struct mount_options, foreground)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct mount_options how = {0};
	char path[PATH_MAX];
	int status = options_parse(c, (void *[]){&how}, &argc, &argv), err;

	if (status >= 0)
		return status;
	if (argc > 1)
		return options_wrong(c, "one folder at most; one more is %s", argv[1]);
	err = make_dir(argv[0], path);
	how.dir = path;
	if (!err) {
		areas_report(note_line);
		err = mount_serve(&how);
	}
	return cmd_end(err);
}

const struct command command_mount = {
	.name = "mount",
	.words = "[DIR]",
	.what = "mount the control files of all traced processes, as the kernel's",
	.help = "Mount the control files of all traced processes on DIR: DIR/PID/ for each live "
		"one,\nand, read-only, for each dead one whose area still exists; DIR/kernel is "
		"the\nkernel's tracefs. DIR is made if it is not there; default: "
		"$XDG_RUNTIME_DIR/vestige, as root\n/run/vestige.\n",
	.more = "`vestige umount [DIR]` unmounts it.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
