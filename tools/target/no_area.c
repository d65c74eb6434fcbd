/* SPDX-License-Identifier: MIT */
/*
 * See no_area.h. The rules for the folder are the engine's (process/area.c): it belongs to the
 * process's user alone. The environment is the one that the process began with. Tests:
 * tests/cli/test_control.py.
 */
#include "tools/target/no_area.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/base/proc_pid.h"
#include "tools/target/image.h"
#include "tools/target/process_env.h"

/* The path of @dir for us; the process may have another root and working directory. */
static int outside(int pid, const char *dir, char *path, size_t room)
{
	return snprintf(path, room, "/proc/%d/%s%s", pid, *dir == '/' ? "root" : "cwd/", dir) <
	       (int)room;
}

/*
 * From its status: the files in /proc of a process that is not dumpable are root's. Return: 0 or
 * -ENOENT.
 */
static int effective_user(int pid, unsigned int *uid)
{
	struct proc_status s;

	if (proc_status(pid, &s))
		return -ENOENT;
	*uid = s.euid;
	return 0;
}

static int check(int pid, unsigned int user, const char *dir, const char *whose)
{
	char path[PATH_MAX];
	struct stat st;

	if (!outside(pid, dir, path, sizeof(path)))
		return 0;
	if (stat(path, &st)) {
		if (errno != ENOENT && errno != ENOTDIR)
			return 0;
		return fail_errno(errno,
				  "process %d has libvestige.so, but is not traced: %s %s is not "
				  "there, and could not be made: mkdir -p -m 700 %s, and start the "
				  "program again",
				  pid, whose, dir, dir);
	}
	if (!S_ISDIR(st.st_mode))
		return fail_errno(ENOTDIR,
				  "process %d has libvestige.so, but is not traced: %s %s is no "
				  "folder: name another one, and start the program again",
				  pid, whose, dir);
	if (st.st_uid != user)
		return fail_errno(
			EPERM,
			"process %d has libvestige.so, but is not traced: %s %s is user "
			"%u's, and the process user %u's: name a folder of that user, and "
			"start the program again",
			pid, whose, dir, st.st_uid, user);
	if (st.st_mode & 077)
		return fail_errno(EPERM,
				  "process %d has libvestige.so, but is not traced: %s %s is open "
				  "to others: chmod 700 %s, and start the program again",
				  pid, whose, dir, dir);
	return 0;
}

int no_area(int pid)
{
	char *off = process_env(pid, "VESTIGE"), *dir = process_env(pid, "VESTIGE_DIR");
	char usual[64];
	unsigned int user;
	int err = 0;

	if (process_is_secure(pid)) {
		err = fail(ENOTSUP,
			   "process %d has libvestige.so, but its program is set-user-ID or has "
			   "rights from its file, and the engine starts in no such program",
			   pid);
	} else if (off && !strcmp(off, "0")) {
		err = fail(ENOTSUP,
			   "process %d has libvestige.so, but VESTIGE=0 in its environment, with "
			   "which it is not traced",
			   pid);
	} else if (!effective_user(pid, &user)) {
		snprintf(usual, sizeof(usual), "%s%u", AREA_DIR_PREFIX, user);
		err = dir && *dir ? check(pid, user, dir, "its VESTIGE_DIR")
				  : check(pid, user, usual, "the folder of areas");
	}
	free(off);
	free(dir);
	return err;
}
