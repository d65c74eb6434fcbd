/* SPDX-License-Identifier: MIT */
/* See cache_folder.h. Tests: tests/cli/test_view_index.py, test_ways.py. */
#include "tools/base/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"

#define OF_OTHERS (S_IRWXG | S_IRWXO)

bool folder_is_mine(const char *dir, mode_t others)
{
	struct stat st;

	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & others);
}

int cache_folder(char *dir, size_t bytes)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool has_cache = cache && *cache == '/';
	int n;

	if (!has_cache && (!home || *home != '/'))
		return fail(EACCES, "there is no place for the cache folder: HOME is not set");
	n = snprintf(dir, bytes, "%s%s", has_cache ? cache : home, has_cache ? "" : "/.cache");
	if (n < 0 || (size_t)n + sizeof("/vestige") > bytes)
		return fail(ENAMETOOLONG, "the name of the cache folder is too long");
	if (mkdir(dir, 0700) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", dir);
	strcat(dir, "/vestige");
	if (mkdir(dir, 0700) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", dir);
	if (!folder_is_mine(dir, OF_OTHERS))
		return fail(EACCES, "%s must be this user's folder, closed to others (chmod 700)",
			    dir);
	return 0;
}
