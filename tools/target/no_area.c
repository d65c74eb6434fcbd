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

/* How a message begins and ends: about a process that has the engine, or would get it. */
struct words {
	const char *what, *again;
};

static const struct words has_it = {"has libvestige.so, but is not traced",
				    "start the program again"},
			  gets_it = {"would get libvestige.so, but not be traced", "attach again"};

static int check(int pid, unsigned int user, const char *dir, const char *whose,
		 const struct words *w)
{
	char path[PATH_MAX];
	struct stat st;

	if (!outside(pid, dir, path, sizeof(path)))
		return 0;
	if (stat(path, &st)) {
		/* an engine that comes makes it; attach looks at the folder above */
		if ((errno != ENOENT && errno != ENOTDIR) || w == &gets_it)
			return 0;
		return fail_errno(errno,
				  "process %d %s: %s %s is not there, and could not be made: mkdir "
				  "-p -m 700 %s, and %s",
				  pid, w->what, whose, dir, dir, w->again);
	}
	if (!S_ISDIR(st.st_mode))
		return fail_errno(
			ENOTDIR,
			"process %d %s: %s %s is no folder: name another one, and start the "
			"program again",
			pid, w->what, whose, dir);
	if (st.st_uid != user)
		return fail_errno(
			EPERM,
			"process %d %s: %s %s is user %u's, and the process user %u's: name a "
			"folder of that user, and start the program again",
			pid, w->what, whose, dir, st.st_uid, user);
	if (st.st_mode & 077)
		return fail_errno(EPERM,
				  "process %d %s: %s %s is open to others: chmod 700 %s, and %s",
				  pid, w->what, whose, dir, dir, w->again);
	return 0;
}

/* @dir: its VESTIGE_DIR; NULL or "": it has none. */
static int check_folder(int pid, const char *dir, const struct words *w)
{
	char usual[64];
	unsigned int user;

	if (effective_user(pid, &user))
		return 0;
	snprintf(usual, sizeof(usual), "%s%u", AREA_DIR_PREFIX, user);
	return dir && *dir ? check(pid, user, dir, "its VESTIGE_DIR", w)
			   : check(pid, user, usual, "the folder of areas", w);
}

int no_area(int pid)
{
	char *off = process_env(pid, "VESTIGE"), *dir = process_env(pid, "VESTIGE_DIR");
	int err;

	if (process_is_secure(pid))
		err = fail(ENOTSUP,
			   "process %d has libvestige.so, but its program is set-user-ID or has "
			   "rights from its file, and the engine starts in no such program",
			   pid);
	else if (off && !strcmp(off, "0"))
		err = fail(ENOTSUP,
			   "process %d has libvestige.so, but VESTIGE=0 in its environment, with "
			   "which it is not traced",
			   pid);
	else
		err = check_folder(pid, dir, &has_it);
	free(off);
	free(dir);
	return err;
}

int no_area_to_come(int pid)
{
	char *dir = process_is_secure(pid) ? NULL : process_env(pid, "VESTIGE_DIR");
	int err = check_folder(pid, dir, &gets_it);

	free(dir);
	return err;
}
