/* SPDX-License-Identifier: MIT */
/*
 * The folder of the areas: see areas_dir.h. The engine cannot print why it did not start, so its
 * likely errors (a full or missing file system, another user's folder) are found here first. Tests:
 * tests/cli/test_record.py.
 */
#include "tools/target/areas_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "abi/agent.h"
#include "abi/area.h"
#include "tools/base/fail.h"

/* Tables and first pages of a small program. */
#define MIN_ROOM_BYTES (256 * 1024)

#define ELSEWHERE "set VESTIGE_DIR to a folder of yours on a tmpfs"

static int refuse_path(int err, const char *path)
{
	struct stat st;

	switch (err) {
	case ENOENT:
		return fail(err, "the folder above %s does not exist: mount /dev/shm or " ELSEWHERE,
			    path);
	case EACCES:
	case EPERM:
	case EROFS:
		if (!lstat(path, &st))
			return fail(err,
				    "%s is user %u's (%s): be that user, or root, or " ELSEWHERE,
				    path, st.st_uid, strerror(err));
		return fail(err,
			    "cannot make %s (%s): make the folder above it writable or " ELSEWHERE,
			    path, strerror(err));
	case ELOOP:
	case ENOTDIR:
		return fail(err, "%s is not a folder (it may be a link): remove it or " ELSEWHERE,
			    path);
	case ENOSPC:
		return fail(err,
			    "%s: its file system is full: remove what fills it (`vestige clean` "
			    "removes the areas of dead programs) or " ELSEWHERE,
			    path);
	default:
		return fail_errno(err, "cannot use %s", path);
	}
}

/* Check that a file of an area's size can be made, with memory for it. */
static int try_room(const struct areas_dir *dir)
{
	struct rlimit limit;
	char name[64];
	int fd, err = 0;

	/* trying it would kill this process by SIGXFSZ */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < MIN_ROOM_BYTES)
		return fail(EFBIG,
			    "the limit on the size of files is too low for an area: raise it "
			    "(`ulimit -f`)");
	/* a file without a name is removed even if this process is killed */
	fd = openat(dir->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		snprintf(name, sizeof(name), ".room.%d", getpid());
		fd = openat(dir->fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
			    0600);
		if (fd >= 0)
			unlinkat(dir->fd, name, 0);
	}
	if (fd < 0)
		return refuse_path(errno, dir->path);
	err = posix_fallocate(fd, 0, MIN_ROOM_BYTES);
	close(fd);
	if (err == EOPNOTSUPP || err == EINVAL)
		err = 0;
	return err ? refuse_path(err, dir->path) : 0;
}

/* A path below the root of another process is not ours. */
static bool is_below_root(const char *path)
{
	return !strncmp(path, "/proc/", 6) && strstr(path, "/root/");
}

/* Name of the folder of @uid. Return: 0 or -errno with fail() set. */
static int name_folder(struct areas_dir *dir, unsigned int uid)
{
	const char *env = getenv("VESTIGE_DIR");

	memset(dir, 0, sizeof(*dir));
	dir->fd = -1;
	dir->from_env = env && *env;
	if (!dir->from_env) {
		snprintf(dir->path, sizeof(dir->path), "%s%u", AREA_DIR_PREFIX, uid);
	} else if (is_below_root(env)) {
		snprintf(dir->path, sizeof(dir->path), "%s", env);
	} else if (!realpath(env, dir->path)) {
		snprintf(dir->path, sizeof(dir->path), "%s", env);
		if (errno != ENOENT)
			return refuse_path(errno, env);
	}
	return 0;
}

/* @root_may: root may read any user's folder that VESTIGE_DIR names. */
static int check_folder(struct areas_dir *dir, unsigned int uid, bool root_may)
{
	const char *env = getenv("VESTIGE_DIR");
	struct stat st;

	if (dir->from_env && !is_below_root(env) && !realpath(env, dir->path))
		return refuse_path(errno, env);
	if (fstat(dir->fd, &st))
		return refuse_path(errno, dir->path);
	if (st.st_uid != uid &&
	    !(dir->from_env && (st.st_uid == geteuid() || (root_may && !geteuid()))))
		return fail(EPERM, "%s belongs to user %u, not to %s: " ELSEWHERE, dir->path,
			    st.st_uid, uid == geteuid() ? "you" : "the process's user");
	if (st.st_mode & 077)
		return fail(EPERM, "%s is open to others: chmod 700 %s", dir->path, dir->path);
	return 0;
}

static int open_folder(struct areas_dir *dir)
{
	dir->fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir->fd < 0 ? -errno : 0;
}

static int open_or_make(struct areas_dir *dir, bool root_may)
{
	int err = name_folder(dir, geteuid());

	if (err)
		return err;
	if (mkdir(dir->path, 0700) && errno != EEXIST)
		return refuse_path(errno, dir->path);
	err = open_folder(dir);
	if (err)
		return refuse_path(-err, dir->path);
	err = check_folder(dir, geteuid(), root_may);
	if (!err)
		err = try_room(dir);
	if (err)
		areas_dir_close(dir);
	return err;
}

int areas_dir_open(struct areas_dir *dir)
{
	return open_or_make(dir, false);
}

int areas_dir_open_any(struct areas_dir *dir)
{
	return open_or_make(dir, true);
}

int areas_dir_find(struct areas_dir *dir, unsigned int uid)
{
	int err = name_folder(dir, uid);

	if (err)
		return err;
	err = open_folder(dir);
	if (err)
		return err == -ENOENT ? err : refuse_path(-err, dir->path);
	err = check_folder(dir, uid, true);
	if (err)
		areas_dir_close(dir);
	return err;
}

/* Open the folder at dir->path, which belongs to @uid or to us alone. */
static int open_of(struct areas_dir *dir, unsigned int uid)
{
	struct stat st;

	if (open_folder(dir))
		return -ENOENT;
	if (fstat(dir->fd, &st) || (st.st_uid != uid && st.st_uid != geteuid()) ||
	    st.st_mode & 077) {
		areas_dir_close(dir);
		return fail(EPERM, "%s is not its user's alone", dir->path);
	}
	return 0;
}

/* The default folder. */
int areas_dir_below(struct areas_dir *dir, int pid, unsigned int uid)
{
	*dir = (struct areas_dir){.fd = -1};
	snprintf(dir->path, sizeof(dir->path), "/proc/%d/root%s%u", pid, AREA_DIR_PREFIX, uid);
	return open_of(dir, uid);
}

int areas_dir_at(struct areas_dir *dir, const char *path, unsigned int uid)
{
	*dir = (struct areas_dir){.fd = -1};
	if (strlen(path) >= sizeof(dir->path))
		return -ENOENT;
	snprintf(dir->path, sizeof(dir->path), "%s", path);
	return open_of(dir, uid);
}

void areas_dir_remove(int dirfd, const char *name, bool ended)
{
	char socket[NAME_MAX];

	unlinkat(dirfd, name, 0);
	if (ended &&
	    snprintf(socket, sizeof(socket), "%s" AGENT_SUFFIX, name) < (int)sizeof(socket))
		unlinkat(dirfd, socket, 0);
}

void areas_dir_close(struct areas_dir *dir)
{
	if (dir->fd >= 0)
		close(dir->fd);
	dir->fd = -1;
}
