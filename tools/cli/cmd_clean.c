/* SPDX-License-Identifier: MIT */
/*
 * vestige clean: remove what dead processes left in the areas' folder. Only names that an engine
 * gives are touched, only files and sockets, and never those of a process that lives: /proc tells
 * by pid and start time. A recorder that still drains such an area has it open and loses nothing.
 * Tests: tests/cli/test_control.py.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "abi/area.h"
#include "tools/base/fail.h"
#include "tools/cli/cmd.h"
#include "tools/cli/control.h"

static const char help[] =
	"usage: vestige clean [-n]\n"
	"Remove the areas and sockets of processes that have ended, and tell which.\n"
	"\n"
	"  -n, --dry-run  only tell\n";

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

		/* an instance's area goes with its process's */
		strcpy(name, e->d_name);
		name[strcspn(name, instance_mark)] = '\0';
		if (!target_parse_name(name, &pid, &start, &is_socket) ||
		    target_lives(pid, start) ||
		    fstatat(dir.fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !(is_socket ? S_ISSOCK(st.st_mode) : S_ISREG(st.st_mode)))
			continue;
		if (!dry && unlinkat(dir.fd, e->d_name, 0)) {
			if (errno != ENOENT)
				err = fail_errno(errno, "cannot remove %s/%s", dir.path, e->d_name);
			continue;
		}
		printf("%s %s/%s\n", dry ? "would remove" : "removed", dir.path, e->d_name);
	}
	if (d)
		closedir(d);
	areas_dir_close(&dir);
	return err;
}

int cmd_clean(int argc, char **argv)
{
	static const struct option longs[] = {
		{"dry-run", no_argument, NULL, 'n'}, {"help", no_argument, NULL, 'h'}, {0}};
	bool dry = false;
	int c;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:nh", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			dry = true;
			break;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return control_usage("clean", c, argv);
		}
	}
	if (argc != optind)
		return control_words("clean", "it takes no words");
	return control_end(clean(dry));
}
