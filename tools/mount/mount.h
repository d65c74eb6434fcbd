/* SPDX-License-Identifier: MIT */
/*
 * The mount: the tracefs of every traced process as files, by FUSE.
 *
 *	DIR/PID/...	a live process, or a dead one whose area is still there (read-only)
 *	DIR/SESSION/...	a process and all that it starts, together
 *	DIR/kernel	a link to the kernel's tracefs
 *
 * Files that the agent answers are passed on to it, with its errno; files that show records are
 * rendered here, from the area. A process that hangs delays its own requests by some seconds each,
 * and no others.
 */
#ifndef VESTIGE_TOOLS_MOUNT_H
#define VESTIGE_TOOLS_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct mount_options {
	const char *dir;    /* absolute */
	bool foreground;    /* do not detach */
	const char *target; /* its tree is the mount's root; NULL: all of them */
	bool allow_other;   /* others than the user may look, as their permissions allow */
	const char *fsname; /* what /proc/mounts has first; NULL "vestige" */
};

/*
 * mount_serve() - mount and serve until it is unmounted.
 * Without `foreground` the caller returns when the mount is ready; a child of it serves.
 * Return: 0 or -errno with fail() set.
 */
int mount_serve(const struct mount_options *options);

/* Is there something mounted at @dir that we made? */
bool mount_is_ours(const char *dir);

/*
 * mount_default_dir() - $XDG_RUNTIME_DIR/vestige; for root, or without one, /run/vestige.
 * Return: 0 or -ENAMETOOLONG with fail() set.
 */
int mount_default_dir(char *dir, size_t bytes);

#endif
