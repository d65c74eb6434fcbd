/* SPDX-License-Identifier: MIT */
/* See open_file.h. Tests: tests/cli/test_main.py. */
#include "tools/reader/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tools/base/fail.h"

int recording_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 && errno == ENOENT && !strcmp(path, "trace.dat"))
		return fail(ENOENT,
			    "there is no trace.dat here: `vestige record PROGRAM` writes one");
	return fd < 0 ? fail_errno(errno, "cannot open '%s'", path) : fd;
}
