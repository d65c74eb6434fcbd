/* SPDX-License-Identifier: MIT */
#include "tools/base/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/read_at.h"

#define FIRST_ROOM (64u << 10)

void spill_init(struct spill *s, size_t memory, const char *beside)
{
	*s = (struct spill){.beside = beside, .max = memory, .fd = -1};
}

void spill_clear(struct spill *s)
{
	if (s->beside && s->fd >= 0) /* all zero: spill_init() was not called */
		close(s->fd);
	free(s->buf);
	*s = (struct spill){.fd = -1};
}

int spill_file(const char *beside)
{
	const char *slash = strrchr(beside, '/'), *tmp = getenv("TMPDIR");
	char folder[PATH_MAX];
	int fd;

	if (!strcmp(beside, "-")) /* /tmp is memory on many machines */
		snprintf(folder, sizeof(folder), "%s", tmp && *tmp ? tmp : "/var/tmp");
	else if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - beside + 1), beside);
	else
		strcpy(folder, ".");
	fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* a file system without nameless files */
	if (strlen(folder) + sizeof("/vestige.XXXXXX") > sizeof(folder))
		return fail(ENAMETOOLONG, "%s: the name is too long", folder);
	strcat(folder, "/vestige.XXXXXX");
	fd = mkostemp(folder, O_CLOEXEC);
	if (fd < 0 && !strcmp(beside, "-"))
		return fail_errno(
			errno, "cannot make a temporary file %s (TMPDIR names its folder)", folder);
	if (fd < 0)
		return fail_errno(errno, "cannot make a temporary file %s", folder);
	unlink(folder);
	return fd;
}

static int write_all(struct spill *s, const char *data, size_t bytes)
{
	if (s->fd < 0) {
		int fd = spill_file(s->beside);

		if (fd < 0)
			return fd;
		s->fd = fd;
	}
	while (bytes) {
		ssize_t n = pwrite(s->fd, data, bytes, (off_t)s->written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(errno, "cannot write a temporary file");
		data += n;
		s->written += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

/*
 * Room for @bytes more in memory, if that many may be there. Return: 0 or -ENOMEM with fail() set.
 */
static int make_room(struct spill *s, size_t bytes)
{
	size_t room = s->room ? s->room : FIRST_ROOM;
	char *more;

	if (bytes <= s->room - s->nr || bytes > s->max - s->nr)
		return 0;
	while (room - s->nr < bytes)
		room *= 2;
	if (room > s->max)
		room = s->max;
	more = realloc(s->buf, room);
	if (!more)
		return fail(ENOMEM, "out of memory");
	s->buf = more;
	s->room = room;
	return 0;
}

int spill_add(struct spill *s, const void *data, size_t bytes)
{
	int err = make_room(s, bytes);

	if (err || !bytes)
		return err;
	if (bytes > s->room - s->nr) {
		err = write_all(s, s->buf, s->nr);
		s->nr = 0;
		if (err || bytes > s->room)
			return err ? err : write_all(s, data, bytes);
	}
	memcpy(s->buf + s->nr, data, bytes);
	s->nr += bytes;
	return 0;
}

int spill_get(const struct spill *s, uint64_t at, void *to, size_t bytes)
{
	char *p = to;

	if (bytes && at < s->written) {
		uint64_t left = s->written - at;
		size_t n = bytes < left ? bytes : (size_t)left;
		int err = read_at(s->fd, p, n, at);

		if (err)
			return err != -ENODATA
				       ? fail_errno(-err, "cannot read a temporary file")
				       : fail(EIO, "a temporary file is shorter than was written");
		p += n;
		at += n;
		bytes -= n;
	}
	if (bytes && (at - s->written > s->nr || bytes > s->nr - (at - s->written)))
		return fail(EIO, "a temporary file is shorter than was written");
	if (bytes)
		memcpy(p, s->buf + (at - s->written), bytes);
	return 0;
}
