/* SPDX-License-Identifier: MIT */
/* vestige umount: end a mount of vestige mount. Tests: tests/tracefs/. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/child.h"
#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/mount/mount.h"

/*
 * For a user: unmount by the helper fusermount3, which is set-user-id root. Return: 0 or -errno
 * with fail() set.
 */
static int by_helper(const char *path, bool lazy)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return fail_errno(errno, "cannot start fusermount3");
	if (!pid) {
		execlp("fusermount3", "fusermount3", lazy ? "-uz" : "-u", "--", path, NULL);
		_exit(127);
	}
	status = child_wait(pid);
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
		return fail(EBUSY, "%s is in use: close the files that are open there, or use -l",
			    path);
	return fail_errno(errno, "cannot unmount %s", path);
}

struct options {
	bool lazy;
};

static const struct flag flags[] = {
	{'l', "lazy", NULL, "even while files in it are open: they stay until they are closed",
	 NULL, offsetof(struct options, lazy)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	char standard[PATH_MAX], path[PATH_MAX];
	const char *dir = standard;
	struct options opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv), err = 0;

	if (status >= 0)
		return status;
	if (argc > 1)
		return options_wrong(c, "one folder at most; one more is %s", argv[1]);
	if (argc)
		dir = argv[0];
	else
		err = mount_default_dir(standard, sizeof(standard));
	if (!err && !realpath(dir, path))
		err = fail_errno(errno, "cannot open '%s'", dir);
	if (!err && !mount_is_ours(path))
		err = fail(EINVAL, "vestige has no mount on %s", path);
	if (!err)
		err = take_away(path, opt.lazy);
	return cmd_end(err);
}

const struct command command_umount = {
	.name = "umount",
	.words = "[DIR]",
	.what = "unmount them",
	.help = "Unmount DIR (default: as for vestige mount).\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
