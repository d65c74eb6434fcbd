/* SPDX-License-Identifier: MIT */
/* The cache folder of the tools: files in it can be removed and are then made again. */
#ifndef VESTIGE_TOOLS_CACHE_FOLDER_H
#define VESTIGE_TOOLS_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Is @dir a folder (no symlink) of this user, without any of the mode bits @others (077)? */
bool folder_is_mine(const char *dir, mode_t others);

/*
 * cache_folder() - make $XDG_CACHE_HOME/vestige or ~/.cache/vestige unless it is there.
 * @dir: gets its path; @bytes: room there.
 * Return: 0 or -errno with fail() set: EACCES: there is no HOME, or others may enter the folder;
 * ENAMETOOLONG; errors of mkdir().
 */
int cache_folder(char *dir, size_t bytes);

#endif
