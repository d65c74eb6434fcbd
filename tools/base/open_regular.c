/* SPDX-License-Identifier: MIT */
/* See open_regular.h. Tests: tests/cli/test_restore.py, tests/cli/test_views.py. */
#include "tools/base/open_regular.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tools/base/fail.h"

int open_regular(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	if (fd < 0)
		return fail_errno(errno, "cannot open '%s'", path);
	if (fstat(fd, st))
		err = fail_errno(errno, "cannot read '%s'", path);
	else if (!S_ISREG(st->st_mode))
		err = fail(EINVAL, "'%s' is not a regular file", path);
	else
		return fd;
	close(fd);
	return err;
}
