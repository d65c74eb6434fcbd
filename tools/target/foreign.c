/* SPDX-License-Identifier: MIT */
/*
 * See foreign.h. /proc is read each time. Tests: tests/cli/test_attach.py,
 * tests/tracefs/test_enter.py.
 */
#include "tools/target/foreign.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tools/target/image.h"

/* Also false if we may not find out: then we may not trace the process either. */
static bool other_namespace(int pid)
{
	struct stat mine, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &mine) && !stat(path, &its) && mine.st_ino != its.st_ino;
}

void foreign_list(int (*put)(void *arg, int pid), void *arg)
{
	/* a user who names a folder wants the processes in that folder alone */
	DIR *d = getenv("VESTIGE_DIR") ? NULL : opendir("/proc");
	struct dirent *e;
	int stop = 0;

	while (d && !stop && (e = readdir(d))) {
		int pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		struct image t;

		if (pid <= 0 || (!image_other_root(pid) && !other_namespace(pid)) ||
		    image_open(&t, pid))
			continue;
		if (t.alive)
			stop = put(arg, pid);
		image_close(&t);
	}
	if (d)
		closedir(d);
}
