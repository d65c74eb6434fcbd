/* SPDX-License-Identifier: MIT */
/* A recording's file, opened with one wording of what is wrong. */
#ifndef VESTIGE_TOOLS_OPEN_FILE_H
#define VESTIGE_TOOLS_OPEN_FILE_H

/*
 * recording_open() - open a recording for reading; a pipe of that name does not hold it up.
 * Return: a descriptor, which the caller closes, or -errno with fail() set.
 */
int recording_open(const char *path);

#endif
