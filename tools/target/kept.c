/* SPDX-License-Identifier: MIT */
/* See kept.h. Tests: tests/cli/test_control.py, tests/engine/fire/leftovers. */
#include "tools/target/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "abi/area.h"
#include "abi/session.h"
#include "tools/base/fail.h"

static const struct kept as_default = {
	.magic = KEPT_MAGIC,
	.version = KEPT_VERSION,
	.max_files = KEPT_DEFAULT,
	.max_bytes = KEPT_DEFAULT,
};

static int open_kept(const struct areas_dir *dir, int flags)
{
	return openat(dir->fd, KEPT_FILE, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* The limit and the counts of removed areas; defaults if there is no such file. */
static void read_kept(const struct areas_dir *dir, struct kept *k)
{
	int fd = open_kept(dir, O_RDONLY);

	if (fd < 0 || pread(fd, k, sizeof(*k), 0) != sizeof(*k) || k->magic != KEPT_MAGIC ||
	    k->version != KEPT_VERSION)
		*k = as_default;
	if (fd >= 0)
		close(fd);
}

/* A number with a unit of bytes or, where @files, without one. */
static bool parse_number(const char *p, const char *end, bool *is_bytes, uint64_t *v)
{
	static const char units[] = "KMG";
	const char *unit;
	char *after;

	if (*p < '0' || *p > '9')
		return false;
	errno = 0;
	*v = strtoull(p, &after, 10);
	unit = after<end && * after> ' ' ? strchr(units, *after & ~0x20) : NULL;
	*is_bytes = unit != NULL;
	if (unit) {
		unsigned int shift = 10 * (unsigned int)(unit - units + 1);

		after++;
		if (*v >> (63 - shift))
			return false;
		*v <<= shift;
	}
	return !errno && after == end && *v < KEPT_NO_LIMIT;
}

static bool parse_limit(const char *text, struct kept *k)
{
	const char *p = text, *end;
	bool is_bytes;
	uint64_t v;

	k->max_files = k->max_bytes = KEPT_DEFAULT;
	if (!strcmp(text, "default"))
		return true;
	if (!strcmp(text, "all") || !strcmp(text, "none")) {
		k->max_files = k->max_bytes = *text == 'a' ? KEPT_NO_LIMIT : 0;
		return true;
	}
	for (;; p = end + 1) {
		uint64_t *to;

		end = p + strcspn(p, ",");
		if (!parse_number(p, end, &is_bytes, &v))
			return false;
		to = is_bytes ? &k->max_bytes : &k->max_files;
		if (*to != KEPT_DEFAULT)
			return false;
		*to = v;
		if (!*end)
			return true;
	}
}

int kept_set(const struct areas_dir *dir, const char *text)
{
	struct kept k;
	ssize_t n;
	int fd;

	read_kept(dir, &k);
	if (!parse_limit(text, &k))
		return fail(EINVAL,
			    "not a limit: %s (a number of files, a size as 500M or 2G, both as "
			    "100,2G; all, none or default)",
			    text);
	fd = open_kept(dir, O_RDWR | O_CREAT);
	if (fd < 0)
		return fail_errno(errno, "cannot write %s/" KEPT_FILE, dir->path);
	n = pwrite(fd, &k, sizeof(k), 0);
	if (n != sizeof(k))
		n = fail_errno(n < 0 ? errno : ENOSPC, "cannot write %s/" KEPT_FILE, dir->path);
	close(fd);
	return n < 0 ? (int)n : 0;
}

/* Count the areas of dead processes, as the engines count them. */
static void count(const struct areas_dir *dir, uint64_t *files, uint64_t *bytes)
{
	int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	*files = *bytes = 0;
	while (d && (e = readdir(d))) {
		if (fstatat(dir->fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
		    !(st.st_mode & KEPT_FOUND_DEAD))
			continue;
		*files += 1;
		*bytes += (uint64_t)st.st_blocks * 512;
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static uint64_t default_bytes(const struct areas_dir *dir)
{
	struct statfs fs;
	uint64_t part = KEPT_DEFAULT_BYTES;

	if (!fstatfs(dir->fd, &fs) && fs.f_blocks)
		part = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize / KEPT_DEFAULT_PART;
	return part < KEPT_DEFAULT_BYTES ? part : KEPT_DEFAULT_BYTES;
}

static uint64_t to_mib(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

static void print_limit(const struct kept *k, const struct areas_dir *dir)
{
	uint64_t files = k->max_files == KEPT_DEFAULT ? KEPT_DEFAULT_FILES : k->max_files;
	uint64_t bytes = k->max_bytes == KEPT_DEFAULT ? default_bytes(dir) : k->max_bytes;

	if (files == KEPT_NO_LIMIT && bytes == KEPT_NO_LIMIT)
		printf("all are kept");
	else if (!files || !bytes)
		printf("none is kept");
	else if (files == KEPT_NO_LIMIT)
		printf("%" PRIu64 " MiB are kept", to_mib(bytes));
	else if (bytes == KEPT_NO_LIMIT)
		printf("%" PRIu64 " are kept", files);
	else
		printf("%" PRIu64 " and %" PRIu64 " MiB are kept", files, to_mib(bytes));
}

void kept_print(const struct areas_dir *dir, bool always)
{
	uint64_t files, bytes;
	char since[64] = "";
	struct kept k;
	time_t first;
	struct tm tm;

	read_kept(dir, &k);
	count(dir, &files, &bytes);
	if (!files && !k.removed_files && !always)
		return;
	printf("Areas of dead processes in %s: %" PRIu64 ", %" PRIu64 " MiB; ", dir->path, files,
	       to_mib(bytes));
	print_limit(&k, dir);
	if (k.removed_files) {
		first = (time_t)k.first_removed_s;
		if (localtime_r(&first, &tm))
			strftime(since, sizeof(since), " since %Y-%m-%d %H:%M", &tm);
		printf(", %" PRIu64 " older ones (%" PRIu64 " MiB) were removed%s", k.removed_files,
		       to_mib(k.removed_bytes), since);
	}
	printf(" (`vestige clean --keep`)\n");
}

bool kept_is_in_use(const struct areas_dir *dir, const char *name)
{
	struct area_header head;
	struct stat ns;
	int fd = openat(dir->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool foreign, in_use = false;

	if (fd < 0)
		return false;
	memset(&head, 0, sizeof(head));
	foreign = pread(fd, &head, sizeof(head), 0) >=
			  (ssize_t)offsetof(struct area_header, time_ns) &&
		  head.magic == AREA_MAGIC && head.pid_ns &&
		  (stat("/proc/self/ns/pid", &ns) || (uint32_t)ns.st_ino != head.pid_ns);
	/* a writable mapping keeps the file open for writing, so a read lease is refused */
	if (foreign) {
		signal(SIGIO, SIG_IGN);
		in_use = fcntl(fd, F_SETLEASE, F_RDLCK) != 0;
		if (!in_use)
			fcntl(fd, F_SETLEASE, F_UNLCK);
	}
	close(fd);
	return in_use;
}

bool kept_session_clean(const struct areas_dir *dir, const char *name, bool dry)
{
	bool is_void = false;
	struct stat st;
	int fd;

	if (strncmp(name, SESSION_PREFIX, strlen(SESSION_PREFIX)) != 0)
		return false;
	fd = openat(dir->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !flock(fd, LOCK_EX | LOCK_NB))
		is_void = dry || !unlinkat(dir->fd, name, 0);
	close(fd);
	return is_void;
}
