/* SPDX-License-Identifier: MIT */
/* The folder for files that can be made again. */
#ifndef VESTIGE_TOOLS_CACHE_FOLDER_H
#define VESTIGE_TOOLS_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A folder, of this user, without the mode bits @others. */
bool folder_is_mine(const char *dir, mode_t others);

/*
 * cache_folder() - $XDG_CACHE_HOME/vestige or ~/.cache/vestige, which is made.
 * Return: 0 or -errno with fail() set: EACCES: there is no HOME, or the folder is not of this user
 * alone; ENAMETOOLONG; errors of mkdir().
 */
int cache_folder(char *dir, size_t bytes);

#endif
