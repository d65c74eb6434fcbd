/* SPDX-License-Identifier: MIT */
/* The default folder of the mount, and whether it is mounted. Tests: tests/tracefs/. */
#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/fail.h"
#include "tools/mount/mount.h"

bool mount_is_ours(const char *dir)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	bool ours = false;
	struct mntent *m;

	/* the last line of a place is the mount on top */
	while (f && (m = getmntent(f)))
		if (!strcmp(m->mnt_dir, dir))
			ours = !strcmp(m->mnt_type, "fuse.vestige");
	if (f)
		endmntent(f);
	return ours;
}

int mount_default_dir(char *dir, size_t bytes)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int n;

	if (!geteuid() || !runtime || *runtime != '/')
		runtime = "/run";
	n = snprintf(dir, bytes, "%s/vestige", runtime);
	return n < (int)bytes ? 0 : fail_errno(ENAMETOOLONG, "%s/vestige", runtime);
}
