/* SPDX-License-Identifier: MIT */
/*
 * vestige clean: removes the areas and sockets of dead processes from the folder of areas. Only
 * files and sockets with names that an engine gives are removed, and never an area of a live
 * process. A process lives if /proc has its pid and start time; in another PID namespace, if a
 * process has the area mapped. A recorder that still reads such an area has it open and loses
 * nothing. Tests: tests/cli/test_control.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/agent.h"
#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/blk/blk_record.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"
#include "tools/code/ways_cache.h"
#include "tools/record/kernel.h"
#include "tools/target/borrowed.h"
#include "tools/target/image.h"
#include "tools/target/kept.h"

/* A socket's name without its end. */
static char *process_of(char *name)
{
	char *end = strstr(name, AGENT_SUFFIX);

	if (end)
		*end = '\0';
	return name;
}

static int keep(const char *limit)
{
	struct areas_dir dir;
	int err = areas_dir_open(&dir);

	if (err)
		return err;
	err = kept_set(&dir, limit);
	if (!err)
		kept_print(&dir, true);
	areas_dir_close(&dir);
	return err;
}

static void print_removed(const struct areas_dir *dir, const char *name, bool dry)
{
	printf("%s %s/%s\n", dry ? "would remove" : "removed", dir->path, name);
}

static int clean(bool dry)
{
	static const char instance_mark[] = {AREA_INSTANCE_MARK, '\0'};
	struct areas_dir dir;
	unsigned long long start;
	struct dirent *e;
	struct stat st;
	bool is_socket;
	int err, fd, pid;
	DIR *d;

	err = areas_dir_find(&dir, geteuid());
	if (err)
		return err == -ENOENT ? 0 : err;
	fd = openat(dir.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d)
		err = fail_errno(errno, "cannot read %s", dir.path);
	while (d && (e = readdir(d))) {
		char name[sizeof(e->d_name)];

		if (kept_session_clean(&dir, e->d_name, dry)) {
			print_removed(&dir, e->d_name, dry);
			continue;
		}
		/* an instance's area goes with its process's */
		strcpy(name, e->d_name);
		name[strcspn(name, instance_mark)] = '\0';
		if (!image_parse_name(name, &pid, &start, &is_socket) || image_lives(pid, start) ||
		    kept_is_in_use(&dir, process_of(name)) ||
		    fstatat(dir.fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !(is_socket ? S_ISSOCK(st.st_mode) : S_ISREG(st.st_mode)))
			continue;
		if (!dry && unlinkat(dir.fd, e->d_name, 0)) {
			if (errno != ENOENT)
				err = fail_errno(errno, "cannot remove %s/%s", dir.path, e->d_name);
			continue;
		}
		print_removed(&dir, e->d_name, dry);
	}
	if (d)
		closedir(d);
	areas_dir_close(&dir);
	return err;
}

static void tell_removed(const char *path)
{
	printf("removed %s\n", path);
}

static void tell_would(const char *path)
{
	printf("would remove %s\n", path);
}

static void tell_restored(const char *what)
{
	printf("restored %s\n", what);
}

static void tell_would_restore(const char *what)
{
	printf("would restore %s\n", what);
}

static int clean_all(bool dry)
{
	/* first, while live processes can still be asked */
	int err = borrowed_clean(dry, dry ? tell_would_restore : tell_restored);

	if (!err)
		err = clean(dry);
	if (!err)
		err = blk_record_clean(dry, dry ? tell_would_restore : tell_restored);
	return err ? err : kernel_record_clean(dry, dry ? tell_would : tell_removed);
}

struct clean {
	const char *limit;
	bool dry, cache;
};

static const struct flag flags[] = {
	{'c', "cache", NULL,
	 "remove only the cached analyses of programs that were built without a flag", NULL,
	 offsetof(struct clean, cache)},
	{'k', "keep", "LIMIT",
	 "set how much dead processes may leave, and remove nothing: a number of files, a size as "
	 "500M or 2G, both as 100,2G; all, none or default. Above that the oldest are removed when "
	 "another traced process starts or ends.",
	 NULL, offsetof(struct clean, limit)},
	{'n', "dry-run", NULL, "only print what would be removed", NULL,
	 offsetof(struct clean, dry)},
	FLAGS_END};

static int run(const struct command *c, int argc, char **argv)
{
	struct clean opt = {0};
	int status = options_parse(c, (void *[]){&opt}, &argc, &argv);

	if (status >= 0)
		return status;
	if (opt.limit && opt.dry)
		return options_wrong(c, "-n and -k cannot be used together");
	if (opt.cache && opt.limit)
		return options_wrong(c, "-c and -k cannot be used together");
	if (opt.cache)
		return cmd_end(ways_cache_clean(opt.dry, opt.dry ? tell_would : tell_removed));
	return cmd_end(opt.limit ? keep(opt.limit) : clean_all(opt.dry));
}

const struct command command_clean = {
	.name = "clean",
	.words = "",
	.what = "remove what processes that have ended left",
	.help = "Remove the areas and sockets of processes that have ended, and name each one.\n",
	.flags = (const struct flag *const[]){flags, NULL},
	.run = run,
};
