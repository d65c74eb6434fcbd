/* SPDX-License-Identifier: MIT */
/* The folder of the areas: $VESTIGE_DIR, else /dev/shm/vestige-UID. */
#ifndef VESTIGE_TOOLS_AREAS_DIR_H
#define VESTIGE_TOOLS_AREAS_DIR_H

#include <limits.h>
#include <stdbool.h>

struct areas_dir {
	int fd;
	bool from_env; /* VESTIGE_DIR names it */
	char path[PATH_MAX];
};

/*
 * areas_dir_open() - find or make the folder and check it: it is this user's alone, no link, and
 * has room for an area.
 * @dir: on success to be closed with areas_dir_close().
 * Return: 0 or -errno with fail() set: a line that names the folder and the remedy.
 */
int areas_dir_open(struct areas_dir *dir);

/* areas_dir_open_any() - the same; for root, a folder that VESTIGE_DIR names may have any owner. */
int areas_dir_open_any(struct areas_dir *dir);

/*
 * areas_dir_find() - open the folder if it exists; it may be full. @uid: its owner; only root may
 * open another user's. For root, a folder that VESTIGE_DIR names may have any owner. Return: as
 * areas_dir_open(); -ENOENT without fail() when there is no folder.
 */
int areas_dir_find(struct areas_dir *dir, unsigned int uid);

/*
 * areas_dir_below() - the folder that process @pid of user @uid has below its own root. Return: as
 * areas_dir_find().
 */
int areas_dir_below(struct areas_dir *dir, int pid, unsigned int uid);

/*
 * areas_dir_at() - the folder @path, if it is @uid's or ours alone and no link. Return: as
 * areas_dir_find().
 */
int areas_dir_at(struct areas_dir *dir, const char *path, unsigned int uid);

/* Remove an area, and its agent's socket if the process has @ended. A missing file is no error. */
void areas_dir_remove(int dirfd, const char *name, bool ended);

void areas_dir_close(struct areas_dir *dir);

#endif
