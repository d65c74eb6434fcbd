/* SPDX-License-Identifier: MIT */
/* vestige umount: take away what vestige mount made. Tests: tests/tracefs/. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/mount/mount.h"

static const char help[] =
	"usage: vestige umount [-l] [DIR]\n"
	"Take away the mount on DIR (default: as vestige mount's).\n"
	"\n"
	"  -l, --lazy  even while files in it are open: they stay until they are closed\n";

/* As a user: by the helper, which may. Return: 0 or -errno with fail() set. */
static int by_helper(const char *path, bool lazy)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		return fail_errno(errno, "cannot start fusermount3");
	if (!pid) {
		execlp("fusermount3", "fusermount3", lazy ? "-uz" : "-u", "--", path, NULL);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return fail(ENOENT, "there is no fusermount3 (Debian: fuse3)");
	return status ? fail(EBUSY, "fusermount3 could not unmount %s", path) : 0;
}

static int take_away(const char *path, bool lazy)
{
	if (geteuid())
		return by_helper(path, lazy);
	if (!umount2(path, lazy ? MNT_DETACH : 0))
		return 0;
	if (errno == EBUSY)
		return fail(EBUSY, "%s is in use: close what is open there, or -l", path);
	return fail_errno(errno, "cannot unmount %s", path);
}

int cmd_umount(int argc, char **argv)
{
	static const struct option longs[] = {
		{"lazy", no_argument, NULL, 'l'}, {"help", no_argument, NULL, 'h'}, {0}};
	char standard[PATH_MAX], path[PATH_MAX];
	bool lazy = false;
	int c, err = 0;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:lh", longs, NULL)) != -1) {
		switch (c) {
		case 'l':
			lazy = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("umount", c, argv);
		}
	}
	if (argc - optind > 1)
		return control_words("umount", "name one folder at most");
	if (!argv[optind])
		err = mount_default_dir(standard, sizeof(standard));
	if (!err && !realpath(argv[optind] ? argv[optind] : standard, path))
		err = fail_errno(errno, "%s", argv[optind] ? argv[optind] : standard);
	if (!err && !mount_is_ours(path))
		err = fail(EINVAL, "nothing of vestige's is mounted on %s", path);
	if (!err)
		err = take_away(path, lazy);
	return control_end(err);
}
