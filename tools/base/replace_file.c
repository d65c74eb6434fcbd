/* SPDX-License-Identifier: MIT */
/*
 * See replace_file.h. ext4 and btrfs write all of a new file to the disk in rename(), when that
 * replaces another one: 60 ms for 100 MB. They do not when two names are exchanged.
 * Tests: tests/unit/test_replace_file.c.
 */
#include "tools/base/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int exchange(const char *a, const char *b)
{
	return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) ? -errno : 0;
}

int replace_file(const char *from, const char *to)
{
	struct stat st;
	int err;

	if (!stat(to, &st) && S_ISREG(st.st_mode) && chmod(from, st.st_mode & 0777))
		return -errno;
	err = exchange(from, to);
	/* there is no @to, or the file system cannot exchange names */
	if (err)
		return rename(from, to) ? -errno : 0;
	if (!unlink(from))
		return 0;
	err = -errno;
	exchange(from, to);
	return err;
}
