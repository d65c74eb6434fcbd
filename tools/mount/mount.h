/* SPDX-License-Identifier: MIT */
/*
 * The mount: the tracefs of every traced process as files, by FUSE.
 *
 *	DIR/PID/...	a live process, or a dead one whose area is still there (read-only)
 *	DIR/SESSION/...	a process and all processes that it starts, together
 *	DIR/kernel	a link to the kernel's tracefs
 *
 * Requests for most files go to the agent, and its errno is returned. Files that show records are
 * rendered here, from the area. If a process hangs, each request to it takes some seconds; other
 * requests are not delayed.
 */
#ifndef VESTIGE_TOOLS_MOUNT_H
#define VESTIGE_TOOLS_MOUNT_H

#include <stdbool.h>
#include <stddef.h>

struct mount_options {
	const char *dir;    /* absolute */
	bool foreground;    /* do not detach */
	const char *target; /* this target's tree is the mount's root; NULL: all targets */
	bool allow_other;   /* other users may use the mount, as file permissions allow */
	const char *fsname; /* first field in /proc/mounts; NULL: "vestige" */
};

/*
 * mount_serve() - mount and serve until it is unmounted.
 * Without `foreground` the caller returns when the mount is ready; a child of it serves.
 * Return: 0 or -errno with fail() set.
 */
int mount_serve(const struct mount_options *options);

/* Is a mount of vestige at @dir? */
bool mount_is_ours(const char *dir);

/*
 * mount_default_dir() - $XDG_RUNTIME_DIR/vestige; for root, or if that is not set, /run/vestige.
 * @dir: gets it; @bytes: room there.
 * Return: 0 or -ENAMETOOLONG with fail() set.
 */
int mount_default_dir(char *dir, size_t bytes);

#endif
