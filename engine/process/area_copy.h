/* SPDX-License-Identifier: MIT */
#ifndef VESTIGE_PROCESS_AREA_COPY_H
#define VESTIGE_PROCESS_AREA_COPY_H

/*
 * snapshot_to_file() - copy the area to a file that every reader accepts as an area. @path: is
 * created with mode 0600; it must not exist. Recording goes on meanwhile: a page that is taken
 * during the copy may be missing. Return: 0 or -errno: -EEXIST, -ENOSPC (the unfinished file is
 * removed) ... Not from a handler.
 */
int snapshot_to_file(const char *path);

#endif
