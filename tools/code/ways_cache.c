/* SPDX-License-Identifier: MIT */
/*
 * See ways_cache.h. A file is written under another name and then renamed, so a reader never sees
 * an incomplete one. Tests: tests/cli/test_ways.py.
 */
#include "tools/code/ways_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/ways_file.h"
#include "tools/base/array.h"
#include "tools/base/cache_folder.h"
#include "tools/base/fail.h"
#include "tools/base/replace_file.h"

#define MAX_TOTAL  (UINT64_C(64) << 20)
#define UNFINISHED ".unfinished"

static void *get(size_t bytes)
{
	return calloc(1, bytes);
}

static void put(void *p, size_t bytes)
{
	(void)bytes;
	free(p);
}

/* The folder of the cache. Return: 0; -ENOENT: there is no cache; -errno with fail() set. */
static int find_folder(char *dir, size_t room)
{
	const char *setting = getenv("VESTIGE_CACHE");
	bool chosen = setting && *setting == '/';

	if (setting && !strcmp(setting, "0"))
		return -ENOENT;
	if (!chosen && geteuid())
		return cache_folder(dir, room);
	if ((size_t)snprintf(dir, room, "%s", chosen ? setting : WAYS_FOLDER_OF_ROOT) >= room)
		return fail(ENAMETOOLONG, "the name of the cache folder is too long");
	if (mkdir(dir, geteuid() ? 0700 : 0755) && errno != EEXIST)
		return fail_errno(errno, "cannot make %s", dir);
	if (!folder_is_mine(dir, S_IWGRP | S_IWOTH))
		return fail(EACCES, "%s is not a folder that this user alone can write to", dir);
	return 0;
}

static bool is_ways_file(const char *name)
{
	size_t n = strlen(name), end = strlen(WAYS_FILE_SUFFIX);
	const char *unfinished = strstr(name, WAYS_FILE_SUFFIX ".");

	if (unfinished && strstr(unfinished, UNFINISHED))
		return true;
	return n > end && !strcmp(name + n - end, WAYS_FILE_SUFFIX);
}

struct kept {
	char name[NAME_MAX + 1];
	uint64_t bytes;
	int64_t used; /* seconds */
};

static int by_use(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	return x->used < y->used ? -1 : x->used > y->used;
}

/* All ways files of a folder, malloced. Return: 0 or -errno with fail() set. */
static int list(const char *dir, struct kept **out, size_t *nr)
{
	DIR *d = opendir(dir);
	struct kept *all = NULL;
	size_t room = 0;
	struct dirent *e;
	struct stat st;

	*nr = 0;
	*out = NULL;
	if (!d)
		return fail_errno(errno, "cannot read %s", dir);
	while ((e = readdir(d))) {
		if (!is_ways_file(e->d_name) ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (ARRAY_ROOM(all, *nr, room, 64)) {
			free(all);
			closedir(d);
			return fail(ENOMEM, "out of memory");
		}
		snprintf(all[*nr].name, sizeof(all->name), "%s", e->d_name);
		all[*nr].bytes = (uint64_t)st.st_size;
		all[(*nr)++].used = st.st_atime > st.st_mtime ? st.st_atime : st.st_mtime;
	}
	closedir(d);
	*out = all;
	return 0;
}

/* Remove the files with the oldest use. */
static void trim(const char *dir)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct kept *all;
	uint64_t total = 0;
	size_t nr;

	if (list(dir, &all, &nr))
		return;
	if (nr)
		qsort(all, nr, sizeof(*all), by_use);
	for (size_t i = 0; i < nr; i++)
		total += all[i].bytes;
	for (size_t i = 0; i < nr && total > MAX_TOTAL; total -= all[i++].bytes) {
		snprintf(path, sizeof(path), "%s/%s", dir, all[i].name);
		unlink(path);
	}
	free(all);
}

static int write_file(const char *path, const uint8_t *bytes, size_t n)
{
	char *unfinished;
	ssize_t written;
	int fd, err = 0;

	if (asprintf(&unfinished, "%s.%d" UNFINISHED, path, (int)getpid()) < 0)
		return fail(ENOMEM, "out of memory");
	unlink(unfinished);
	fd = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = fail_errno(errno, "cannot make %s", unfinished);
		free(unfinished);
		return err;
	}
	written = write(fd, bytes, n);
	if (written != (ssize_t)n)
		err = fail_errno(written < 0 ? errno : ENOSPC, "cannot write %s", unfinished);
	/* processes of other users read root's files */
	if (!err && !geteuid() && fchmod(fd, 0644))
		err = fail_errno(errno, "cannot write %s", unfinished);
	close(fd);
	if (!err)
		err = replace_file(unfinished, path);
	if (err)
		unlink(unfinished);
	free(unfinished);
	return err;
}

/* Whether the cache has a valid file for exactly these bytes of the object. */
static bool is_kept(const char *path, const uint8_t *map, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct entries e;
	struct stat st;
	uint8_t *ways = NULL;
	bool fits = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && ways_file_is_trusted(&st, geteuid()))
		ways = malloc((size_t)st.st_size);
	if (ways && read(fd, ways, (size_t)st.st_size) == st.st_size &&
	    !ways_file_unpack(&e, map, bytes, ways, (size_t)st.st_size, get, put)) {
		fits = true;
		entries_close(&e);
	}
	free(ways);
	close(fd);
	return fits;
}

static int keep_mapped(const char *dir, const uint8_t *map, size_t bytes, const uint8_t *id,
		       uint32_t id_bytes)
{
	uint8_t its[WAYS_FILE_MAX_ID], *ways;
	char name[WAYS_FILE_NAME_BYTES], path[PATH_MAX + sizeof(name) + 1];
	struct entries e;
	size_t n;
	int err;

	if (elf_image_open(&e.image, map, bytes) || e.image.head.e_machine != EM_X86_64 ||
	    elf_image_build_id(&e.image, its, sizeof(its)) != id_bytes ||
	    memcmp(its, id, id_bytes) != 0 || ways_file_name(id, id_bytes, name))
		return fail(ESTALE, "another file is there now");
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (is_kept(path, map, bytes))
		return 0;
	err = entries_open(&e, map, bytes, get, put);
	if (err)
		return fail(-err, "it cannot be analysed");
	err = entries_find_ways(&e);
	n = err ? 0 : ways_file_pack(&e, NULL);
	ways = n ? calloc(1, n) : NULL;
	if (ways && ways_file_pack(&e, ways))
		err = write_file(path, ways, n);
	entries_close(&e);
	if (ways)
		trim(dir);
	free(ways);
	return err;
}

int ways_cache_keep(const char *path, const uint8_t *id, uint32_t id_bytes)
{
	char dir[PATH_MAX];
	int err = find_folder(dir, sizeof(dir)), fd;
	struct stat st;
	void *map;

	if (err)
		return err == -ENOENT ? 0 : err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_errno(errno, "cannot open %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !st.st_size) {
		close(fd);
		return fail(EINVAL, "%s is not an ELF file", path);
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return fail_errno(errno, "cannot map %s", path);
	err = keep_mapped(dir, map, (size_t)st.st_size, id, id_bytes);
	munmap(map, (size_t)st.st_size);
	return err;
}

int ways_cache_clean(bool dry, void (*say)(const char *path))
{
	char dir[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
	struct kept *all;
	size_t nr;
	int err = find_folder(dir, sizeof(dir));

	if (!err)
		err = list(dir, &all, &nr);
	if (err)
		return err == -ENOENT ? 0 : err;
	for (size_t i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, all[i].name);
		if (!dry && unlink(path) && errno != ENOENT)
			err = fail_errno(errno, "cannot remove %s", path);
		else
			say(path);
	}
	free(all);
	return err;
}
