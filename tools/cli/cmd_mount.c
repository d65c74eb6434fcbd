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
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/mount/mount.h"

static const char help[] =
	"usage: vestige mount [-f] [DIR]\n"
	"Mount the control files of all traced processes on DIR: DIR/PID/ for each that lives, and "
	"for\n"
	"each dead one whose area is still there, read-only; DIR/kernel leads to the kernel's.\n"
	"DIR is made if it is not there; default: $XDG_RUNTIME_DIR/vestige, as root /run/vestige.\n"
	"\n"
	"  -f, --foreground  serve until interrupted or unmounted, instead of in the background\n"
	"\n"
	"`vestige umount [DIR]` takes it away.\n";

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
	if (mount_is_ours(path))
		return fail(EBUSY, "%s is mounted already (`vestige umount` takes it away)", path);
	return 0;
}

int cmd_mount(int argc, char **argv)
{
	static const struct option longs[] = {
		{"foreground", no_argument, NULL, 'f'}, {"help", no_argument, NULL, 'h'}, {0}};
	struct mount_options how = {0};
	char path[PATH_MAX];
	int c, err;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:fh", longs, NULL)) != -1) {
		switch (c) {
		case 'f':
			how.foreground = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("mount", c, argv);
		}
	}
	if (argc - optind > 1)
		return control_words("mount", "name one folder at most");
	err = make_dir(argv[optind], path);
	how.dir = path;
	if (!err)
		err = mount_serve(&how);
	return control_end(err);
}
