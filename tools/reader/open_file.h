/* SPDX-License-Identifier: MIT */
/* Opens the file of a recording, with the same error messages everywhere. */
#ifndef VESTIGE_TOOLS_OPEN_FILE_H
#define VESTIGE_TOOLS_OPEN_FILE_H

/*
 * recording_open() - open a recording for reading. A named pipe does not block it.
 * Return: a descriptor, which the caller closes, or -errno with fail() set.
 */
int recording_open(const char *path);

#endif
