/* SPDX-License-Identifier: MIT */
/* See move_bytes.h. Tests: tests/cli/test_listen.py, test_record_kernel.py (full disks). */
#include "tools/base/move_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/base/read_at.h"

#define PART_BYTES 32768u

static int move_parts(int from, uint64_t bytes, FILE *to, bool frees, char *part)
{
	for (uint64_t done = 0; done < bytes;) {
		size_t want = bytes - done < PART_BYTES ? (size_t)(bytes - done) : PART_BYTES;
		int err = read_at(from, part, want, done);

		if (err)
			return err == -ENODATA ? -EIO : err;
		errno = 0;
		if (fwrite(part, 1, want, to) != want || (frees && fflush(to)))
			return errno ? -errno : -EIO;
		if (frees)
			free_room(from, done, want);
		done += want;
	}
	return 0;
}

int move_bytes(int from, uint64_t bytes, FILE *to, bool frees)
{
	char *part = malloc(PART_BYTES);
	int err = part ? move_parts(from, bytes, to, frees, part) : -ENOMEM;

	free(part);
	return err;
}

bool free_room(int fd, uint64_t at, uint64_t bytes)
{
	return !fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
}

bool move_bytes_frees(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);

	/* behind its end, where there is nothing to lose */
	return end >= 0 && free_room(fd, (uint64_t)end, 1);
}

int stream_error(FILE *f)
{
	static const char page[4096];

	if (!ferror(f) && !fflush(f))
		return 0;
	clearerr(f);
	errno = 0;
	if (fwrite(page, 1, sizeof(page), f) == sizeof(page) && !fflush(f))
		return -EIO;
	return errno ? -errno : -EIO;
}
