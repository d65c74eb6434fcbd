/* SPDX-License-Identifier: MIT */
/*
 * See attach.h. A systemd unit has a control group of its name, a container one with its id in the
 * name (docker-ID.scope, libpod-ID.scope). cgroups(7). Tests: tests/cli/test_attach.py.
 */
#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/attach/attach.h"
#include "tools/base/fail.h"

#define ROOT	 "/sys/fs/cgroup"
#define MIN_ID	 12 /* characters of a container's id */
#define MAX_OPEN 16

/* nftw() has no argument for its callback. */
static struct {
	const char *name;
	bool is_id;
	char path[PATH_MAX];
	int *pids;
	size_t nr, room;
	bool no_memory;
} walk;

static int find(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const char *base = path + at->base;

	(void)st;
	if (type != FTW_D ||
	    (strcmp(base, walk.name) != 0 && !(walk.is_id && strstr(base, walk.name))))
		return 0;
	snprintf(walk.path, sizeof(walk.path), "%s", path);
	return 1;
}

static void add(int pid)
{
	for (size_t i = 0; i < walk.nr; i++)
		if (walk.pids[i] == pid)
			return;
	if (walk.nr == walk.room) {
		size_t room = walk.room ? 2 * walk.room : 64;
		int *more = realloc(walk.pids, room * sizeof(*more));

		if (!more) {
			walk.no_memory = true;
			return;
		}
		walk.pids = more;
		walk.room = room;
	}
	walk.pids[walk.nr++] = pid;
}

static int read_procs(const char *path, const struct stat *st, int type, struct FTW *at)
{
	FILE *f;
	int pid;

	(void)st;
	if (type != FTW_F || strcmp(path + at->base, "cgroup.procs") != 0)
		return 0;
	f = fopen(path, "re");
	/* 0: a process of a PID namespace that we cannot see */
	while (f && fscanf(f, "%d", &pid) == 1)
		if (pid > 0)
			add(pid);
	if (f)
		fclose(f);
	return 0;
}

static bool is_id(const char *name)
{
	size_t n = 0;

	while (isxdigit((unsigned char)name[n]))
		n++;
	return !name[n] && n >= MIN_ID;
}

int attach_cgroup(const char *name, int **pids, size_t *nr)
{
	struct stat st;

	memset(&walk, 0, sizeof(walk));
	walk.name = name;
	walk.is_id = is_id(name);
	if (name[0] == '/')
		snprintf(walk.path, sizeof(walk.path), "%s%s",
			 strncmp(name, ROOT, strlen(ROOT)) ? ROOT : "", name);
	else
		nftw(ROOT, find, MAX_OPEN, FTW_PHYS);
	if (!walk.path[0] || stat(walk.path, &st))
		return fail(ENOENT,
			    "there is no control group %s below " ROOT
			    ": name a folder there, a systemd unit (nginx.service) or at least %d "
			    "characters of a container's id",
			    name, MIN_ID);
	nftw(walk.path, read_procs, MAX_OPEN, FTW_PHYS);
	*pids = walk.pids;
	*nr = walk.nr;
	if (walk.no_memory)
		return fail(ENOMEM, "out of memory");
	return walk.nr ? 0 : fail(ESRCH, "there is no process in %s", walk.path);
}
