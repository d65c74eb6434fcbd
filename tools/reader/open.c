/* SPDX-License-Identifier: MIT */
/* reader_open(): finds the format of a file by its first bytes. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/reader/open_file.h"
#include "tools/reader/reader.h"

static const struct reader_format *const formats[] = {
	&reader_format_dat,
	&reader_format_spool,
	&reader_format_area,
};

#define NR_FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct reader_format *reader_format_of(const unsigned char head[16])
{
	for (unsigned int i = 0; i < NR_FORMATS; i++)
		if (!memcmp(head, formats[i]->magic, formats[i]->magic_bytes))
			return formats[i];
	return NULL;
}

int reader_open(const char *path, struct reader **out)
{
	const struct reader_format *format;
	unsigned char head[16] = {0};
	struct stat st;
	ssize_t n = 0;
	int fd = recording_open(path), err = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		err = fail_errno(errno, "cannot stat '%s'", path);
	else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		err = fail(EINVAL, "'%s' is not a regular file", path);
	else if (S_ISREG(st.st_mode) && (n = pread(fd, head, sizeof(head), 0)) < 0)
		err = fail_errno(errno, "cannot read '%s'", path);
	close(fd);
	if (err)
		return err;
	if (S_ISDIR(st.st_mode)) {
		err = reader_open_import(path, out);
		return err <= 0 ? err
				: fail(EISDIR, "'%s' is a folder that no known tool has written",
				       path);
	}
	format = reader_format_of(head);
	if (format)
		return format->open(path, out);
	if (n == 0)
		return fail(EINVAL, "'%s' is empty", path);
	err = reader_open_import(path, out);
	if (err <= 0)
		return err;
	return fail(EINVAL, "'%s' is neither a trace.dat nor a spool nor an area", path);
}

int reader_interrupted(void)
{
	return fail(EINTR, "interrupted");
}
