/* SPDX-License-Identifier: MIT */
/* See dat_file.h. Tests: tests/unit/test_dat_write.c. */
#include "tools/export/dat_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/base/replace_file.h"
#include "tools/base/signals.h"

/* Block SIGXFSZ in this thread. Return: whether it was not blocked before. */
static bool hold_xfsz(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	return !sigismember(&old, SIGXFSZ);
}

static void release_xfsz(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	signals_drop(&set);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

/*
 * Begin @f with the path and mode of the file that is replaced. Return: 0, or -errno with fail()
 * set, and then there is nothing to free.
 */
static int find_target(struct dat_file *f, const char *path)
{
	struct stat st;
	int err;

	*f = (struct dat_file){.fd = -1, .path = path, .mode = 0666, .held = hold_xfsz()};
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		f->target = realpath(path, NULL);
		if (!f->target) {
			err = errno;
			dat_file_abort(f);
			return fail_errno(err, "cannot follow the link '%s'", path);
		}
	} else {
		f->target = strdup(path);
	}
	if (f->target && stat(f->target, &st) == 0 && !S_ISREG(st.st_mode)) {
		dat_file_abort(f);
		if (S_ISDIR(st.st_mode))
			return fail(EISDIR, "'%s' is a folder; name a file in it", path);
		return fail(EINVAL,
			    "'%s' is a device or a pipe: name a file (formats of calls, see "
			    "`vestige convert --list`, also go to stdout: -)",
			    path);
	}
	/* from the first byte on, only readers of the old file may read the new one */
	if (f->target && stat(f->target, &st) == 0)
		f->mode = st.st_mode & 0777;
	return 0;
}

int dat_file_create(struct dat_file *f, const char *path)
{
	int i, err = find_target(f, path);

	if (err)
		return err;
	for (i = 0; f->target && i < 100; i++) {
		if (asprintf(&f->tmp, "%s.tmp-%d.%d", f->target, (int)getpid(), i) < 0) {
			f->tmp = NULL;
			break;
		}
		f->fd = open(f->tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			     f->mode | S_IRUSR | S_IWUSR);
		if (f->fd >= 0)
			return 0;
		err = errno;
		free(f->tmp);
		f->tmp = NULL;
		if (err != EEXIST) {
			dat_file_abort(f);
			return fail_errno(err, "cannot create '%s'", path);
		}
	}
	dat_file_abort(f);
	return fail(i ? EEXIST : ENOMEM, "cannot create '%s': %s", path,
		    i ? "too many unfinished files beside it" : "out of memory");
}

int dat_file_create_unnamed(struct dat_file *f, const char *path)
{
	int err = find_target(f, path);
	char *folder, *slash;

	if (err)
		return err;
	folder = f->target ? strdup(f->target) : NULL;
	slash = folder ? strrchr(folder, '/') : NULL;
	if (slash)
		slash[slash == folder] = '\0';
	if (folder)
		f->fd = open(slash ? folder : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, f->mode);
	free(folder);
	/* the name that dat_file_adopt() will give it */
	if (f->fd >= 0 && asprintf(&f->tmp, "%s.tmp-%d.live", f->target, (int)getpid()) >= 0) {
		f->unnamed = true;
		return 0;
	}
	f->tmp = NULL;
	dat_file_abort(f);
	return fail(ENOTSUP, "the file system of '%s' has no files without a name", path);
}

int dat_file_adopt(struct dat_file *f, struct dat_file *from, const char *path)
{
	char link[64];

	*f = *from;
	f->path = path;
	f->held = hold_xfsz();
	*from = (struct dat_file){.fd = -1};
	if (!f->unnamed)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, f->tmp, AT_SYMLINK_FOLLOW)) {
		int err = errno;

		dat_file_abort(f);
		return fail_errno(err, "cannot create '%s'", path);
	}
	f->unnamed = false;
	return 0;
}

int dat_file_commit(struct dat_file *f)
{
	int ret = 0, err;

	/* a network file system may report a full disk only now */
	if (close(f->fd) < 0)
		ret = dat_file_failed(f, -errno);
	f->fd = -1;
	if (!ret) {
		err = replace_file(f->tmp, f->target);
		if (err)
			ret = fail_errno(-err, "cannot put the finished file in place of '%s'",
					 f->path);
	}
	if (!ret) {
		free(f->tmp);
		f->tmp = NULL;
	}
	dat_file_abort(f);
	return ret;
}

void dat_file_abort(struct dat_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	if (f->tmp && !f->unnamed)
		unlink(f->tmp);
	free(f->tmp);
	free(f->target);
	if (f->held)
		release_xfsz();
	f->held = false;
	f->fd = -1;
	f->tmp = f->target = NULL;
}

int dat_file_failed(const struct dat_file *f, int err)
{
	struct stat st;
	double mb = fstat(f->fd, &st) == 0 ? (double)st.st_size / 1e6 : 0;

	switch (-err) {
	case ENOSPC:
	case EDQUOT:
		return fail(-err,
			    "cannot write '%s': %s after %.1f MB; make room there or name another "
			    "place with -o",
			    f->path, strerror(-err), mb);
	case EFBIG:
		return fail(EFBIG,
			    "cannot write '%s': larger than the limit on file sizes (ulimit -f) "
			    "after %.1f MB",
			    f->path, mb);
	case ENOMEM:
		return fail(ENOMEM, "cannot write '%s': out of memory", f->path);
	default:
		return fail_errno(-err, "cannot write '%s'", f->path);
	}
}

int dat_file_beside(const struct dat_file *f, const char *suffix)
{
	char *name = NULL;
	int fd, err;

	if (asprintf(&name, "%s%s", f->tmp, suffix) < 0)
		return fail(ENOMEM, "out of memory");
	fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	err = fd < 0 ? fail_errno(errno, "cannot create '%s'", name) : 0;
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd < 0 ? err : fd;
}

int dat_file_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset)
{
	const char *p = buf;

	while (bytes) {
		ssize_t n = pwrite(fd, p, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		bytes -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}
