/* SPDX-License-Identifier: MIT */
/* See inspect.h. Tests: tests/cli/test_doctor.py. */
#include "tools/cli/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/target/areas_dir.h"
#include "tools/reader/area.h"

static int load(const struct areas_dir *dir, const char *name, struct meta **out)
{
	uint64_t bytes;
	int fd, err;

	fd = area_open(dir->fd, name, O_RDONLY, &bytes);
	if (fd < 0)
		return fd;
	err = meta_load(fd, 0, bytes, name, out);
	close(fd);
	return err;
}

int inspect_program(struct launch *l, char **argv, struct meta **out)
{
	struct areas_dir dir;
	char name[64];
	int err;

	err = launch_find(l, argv[0]);
	if (err)
		return err;
	err = areas_dir_open(&dir);
	if (err)
		return err;
	l->areas_dir = dir.path;
	l->boot = "ftrace=nop";
	l->silent = true;
	err = launch_start(l, argv, true);
	if (!err && l->ended)
		err = fail(ENOEXEC,
			   "%s ended before its main(), with %s %d: does it run by itself?",
			   l->path, WIFEXITED(l->status) ? "status" : "signal",
			   WIFEXITED(l->status) ? WEXITSTATUS(l->status) : WTERMSIG(l->status));
	if (err) {
		areas_dir_close(&dir);
		return err;
	}
	snprintf(name, sizeof(name), "%d.%llu", l->pid, launch_start_time(l->pid, NULL));
	err = load(&dir, name, out);
	if (err)
		err = fail(ENOTSUP, "the engine did not start in %s: %s", l->image, fail_text());
	launch_kill(l);
	areas_dir_remove(dir.fd, name, true);
	areas_dir_close(&dir);
	return err;
}
