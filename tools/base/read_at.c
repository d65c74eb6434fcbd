/* SPDX-License-Identifier: MIT */
/* See read_at.h. Tests: by all readers of files, tests/unit/reader/. */
#include "tools/base/read_at.h"

#include <errno.h>
#include <unistd.h>

#include "tools/base/fail.h"

int read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENODATA;
		done += (size_t)n;
	}
	return 0;
}

int read_at_or_fail(int fd, void *to, size_t bytes, uint64_t offset, const char *what)
{
	int err = read_at(fd, to, bytes, offset);

	if (err == -ENODATA)
		return fail(EINVAL, "%s is cut short", what);
	return err ? fail_errno(-err, "cannot read '%s'", what) : 0;
}
