/* SPDX-License-Identifier: MIT */
/* See blk_settings.h. Tests: tests/cli/test_blk_record.py. */
#include "tools/blk/blk_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/read_at.h"

/*
 * A line "PATH VALUE" for each changed file, in order; for an instance a line "PATH " without a
 * value.
 */
#define STATE	  "/run/vestige-blk"
#define LINES_MAX 2048 /* a CPU each, and some */

struct blk_settings {
	int fd;
};

int blk_settings_read(const char *path, char *text, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);
	int err = n < 0 ? errno : 0;

	if (fd >= 0)
		close(fd);
	if (err)
		return fail_errno(err, "cannot read %s", path);
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

int blk_settings_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t n = strlen(text);
	int err = fd < 0 || write(fd, text, n) != (ssize_t)n ? errno : 0;

	if (fd >= 0)
		close(fd);
	return err ? fail_errno(err, "cannot write %s to %s", text, path) : 0;
}

/* Is it a file that a recorder sets? No other path in STATE is written. */
static bool is_ours(const char *path)
{
	return (!strncmp(path, BLK_TRACING "/", sizeof(BLK_TRACING)) ||
		!strncmp(path, "/sys/class/block/", 17)) &&
	       !strstr(path, "..");
}

/* Return: 0 or -errno with fail() set. */
static int put_back_one(const char *path, const char *value)
{
	if (access(path, F_OK)) /* a removed device has no settings */
		return 0;
	if (*value)
		return blk_settings_write(path, value);
	return rmdir(path) ? fail_errno(errno, "cannot remove %s", path) : 0;
}

/* Restore the settings in the file, the last one first. Return: 0 or the first error. */
static int put_back(int fd, bool dry, void (*report)(const char *path))
{
	char *lines[LINES_MAX], *line, *value, *text, *rest;
	size_t nr = 0;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st))
		return fail_errno(errno, "cannot read %s", STATE);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return fail(ENOMEM, "out of memory for %s", STATE);
	err = read_at_or_fail(fd, text, (size_t)st.st_size, 0, STATE);
	if (err) {
		free(text);
		return err;
	}
	text[st.st_size] = '\0';
	rest = text;
	while ((line = strsep(&rest, "\n")) && nr < LINES_MAX)
		if (*line)
			lines[nr++] = line;
	while (nr--) {
		value = strchr(lines[nr], ' ');
		if (!value)
			continue;
		*value++ = '\0';
		if (!is_ours(lines[nr]))
			continue;
		if (report)
			report(lines[nr]);
		if (!dry) {
			int failed = put_back_one(lines[nr], value);

			if (!err)
				err = failed;
		}
	}
	free(text);
	return err;
}

static int open_state(int flags)
{
	int fd = open(STATE, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != geteuid() || !S_ISREG(st.st_mode))) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

int blk_settings_begin(struct blk_settings **out)
{
	struct blk_settings *s = calloc(1, sizeof(*s));
	struct stat st;
	int err = 0;

	*out = s;
	if (!s)
		return fail(ENOMEM, "out of memory for settings");
	s->fd = open_state(O_CREAT);
	if (s->fd < 0)
		err = fail_errno(errno, "cannot write %s", STATE);
	else if (flock(s->fd, LOCK_EX | LOCK_NB))
		err = fail(EBUSY, "another vestige blk record is running");
	else if (!fstat(s->fd, &st) && st.st_size)
		err = put_back(s->fd, false, NULL); /* settings of a killed recorder */
	if (!err && ftruncate(s->fd, 0))
		err = fail_errno(errno, "cannot write %s", STATE);
	if (err) {
		if (s->fd >= 0)
			close(s->fd);
		free(s);
		*out = NULL;
	}
	return err;
}

int blk_settings_set(struct blk_settings *s, const char *path, const char *value,
		     const char *before)
{
	off_t at = lseek(s->fd, 0, SEEK_END);
	int err;

	if (at < 0 || dprintf(s->fd, "%s %s\n", path, before) < 0)
		return fail_errno(errno, "cannot write %s", STATE);
	err = blk_settings_write(path, value);
	if (err && ftruncate(s->fd, at))
		return fail_errno(errno, "cannot write %s", STATE);
	return err;
}

int blk_settings_instance(struct blk_settings *s, const char *path)
{
	off_t at = lseek(s->fd, 0, SEEK_END);
	int err;

	if (at < 0 || dprintf(s->fd, "%s \n", path) < 0)
		return fail_errno(errno, "cannot write %s", STATE);
	if (!mkdir(path, 0700))
		return 0;
	err = fail_errno(errno, "cannot make the instance %s", path);
	/* it is not ours, so blk_settings_end() must not remove it */
	if (ftruncate(s->fd, at))
		return fail_errno(errno, "cannot write %s", STATE);
	return err;
}

int blk_settings_end(struct blk_settings *s)
{
	int err;

	if (!s)
		return 0;
	err = put_back(s->fd, false, NULL);
	if (!err && unlink(STATE))
		err = fail_errno(errno, "cannot remove %s", STATE);
	close(s->fd);
	free(s);
	return err;
}

int blk_settings_clean(bool dry, void (*report)(const char *path))
{
	int fd = open_state(0), err = 0;

	if (fd < 0)
		return errno == ENOENT ? 0 : fail_errno(errno, "cannot read %s", STATE);
	/* a recorder that still runs restores them itself */
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		err = put_back(fd, dry, report);
		if (!err && !dry && unlink(STATE))
			err = fail_errno(errno, "cannot remove %s", STATE);
	}
	close(fd);
	return err;
}
