/* SPDX-License-Identifier: MIT */
/*
 * See attach_impl.h: the path of libvestige.so for the process. If the process has another root or
 * mount namespace, it is a copy below its root, which is unlinked as soon as it is loaded. A child
 * of ours unlinks it, so no copy is left behind when we are killed. Tests:
 * tests/cli/test_attach.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/attach/attach_impl.h"
#include "tools/base/fail.h"
#include "tools/record/launch.h"
#include "tools/target/image.h"

/* Folders where a file can usually be made and mapped as executable. */
static const char *const folders[] = {"/tmp", "/run", "/var/tmp", "/dev/shm", "/"};

static bool is_same_file(int pid, const char *path)
{
	char there[PATH_MAX + 32];
	struct stat mine, its;

	snprintf(there, sizeof(there), "/proc/%d/root%s", pid, path);
	return !stat(path, &mine) && !stat(there, &its) && its.st_ino == mine.st_ino &&
	       its.st_dev == mine.st_dev;
}

/* The child: it waits until our end of the pipe is closed, by us or by our death. */
static void wait_and_unlink(int dir, const char *name, int pipe)
{
	char c;

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while (read(pipe, &c, 1) < 0 && errno == EINTR)
		;
	unlinkat(dir, name, 0);
	_exit(0);
}

static int guard(struct attach_library *l, int dir, const char *name)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	l->guard = fork();
	if (!l->guard) {
		close(ends[1]);
		wait_and_unlink(dir, name, ends[0]);
	}
	close(ends[0]);
	l->pipe = ends[1];
	return l->guard < 0 ? -errno : 0;
}

static int copy(int to, const char *path)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n = 1;

	if (from < 0)
		return -errno;
	while (n > 0)
		n = sendfile(to, from, NULL, 1 << 24);
	if (n < 0)
		err = -errno;
	close(from);
	return err;
}

/* Return: 0; -errno. */
static int make_in(struct attach_library *l, int pid, const char *folder, const char *from)
{
	char there[PATH_MAX], name[64];
	struct statvfs fs;
	int dir, fd, err;

	snprintf(there, sizeof(there), "/proc/%d/root%s", pid, folder);
	dir = open(there, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	snprintf(name, sizeof(name), "libvestige.so.%d", getpid());
	if (fstatvfs(dir, &fs) || fs.f_flag & (ST_NOEXEC | ST_RDONLY)) {
		close(dir);
		return -EACCES;
	}
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	err = fd < 0 ? -errno : guard(l, dir, name);
	if (fd >= 0) {
		if (!err)
			err = copy(fd, from);
		if (!err && fchmod(fd, 0755))
			err = -errno;
		close(fd);
		if (err && l->guard <= 0)
			unlinkat(dir, name, 0);
	}
	close(dir);
	if (err)
		attach_library_close(l);
	snprintf(l->path, sizeof(l->path), "%s/%s", strcmp(folder, "/") ? folder : "", name);
	return err;
}

int attach_library_open(struct attach_library *l, int pid)
{
	char from[PATH_MAX];
	int err = launch_find_part("libvestige.so", from), last = 0;

	*l = (struct attach_library){.pipe = -1};
	if (err)
		return err;
	if (is_same_file(pid, from)) {
		snprintf(l->path, sizeof(l->path), "%s", from);
		return 0;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		err = make_in(l, pid, folders[i], from);
		if (!err)
			return 0;
		if (!last || last == -ENOENT)
			last = err;
	}
	return fail(
		-last,
		"process %d has another root, and no folder below it (/tmp, /run, /var/tmp, "
		"/dev/shm) takes a file that can be executed: %s; copy %s there, to the same path",
		pid, strerror(-last), from);
}

void attach_library_close(struct attach_library *l)
{
	if (l->pipe < 0)
		return;
	close(l->pipe);
	l->pipe = -1;
	if (l->guard > 0)
		waitpid(l->guard, NULL, 0);
	l->guard = 0;
}
