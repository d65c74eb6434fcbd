/* SPDX-License-Identifier: MIT */
/* reader_open(): which of the formats a file has, its first bytes tell. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/reader/reader.h"
#include "tools/reader/spool_format.h"

static const unsigned char dat_magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

int reader_open(const char *path, struct reader **out)
{
	unsigned char head[16] = {0};
	struct stat st;
	uint64_t magic;
	ssize_t n = 0;
	int fd, err = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_errno(errno, "cannot open %s", path);
	if (fstat(fd, &st))
		err = fail_errno(errno, "cannot stat %s", path);
	else if (!S_ISREG(st.st_mode))
		err = fail(EINVAL, "%s is not a regular file", path);
	else if ((n = pread(fd, head, sizeof(head), 0)) < 0)
		err = fail_errno(errno, "cannot read %s", path);
	close(fd);
	if (err)
		return err;
	memcpy(&magic, head, sizeof(magic));
	if (!memcmp(head, dat_magic, sizeof(dat_magic)))
		return reader_open_dat(path, out);
	if (magic == SPOOL_MAGIC)
		return reader_open_spool(path, out);
	if (magic == AREA_MAGIC)
		return reader_open_area(path, out);
	if (n == 0)
		return fail(EINVAL, "%s is empty", path);
	return fail(EINVAL, "%s is neither a trace.dat nor a spool nor an area", path);
}
