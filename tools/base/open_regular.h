/* SPDX-License-Identifier: MIT */
/* Open a regular file for reading. */
#ifndef VESTIGE_TOOLS_OPEN_REGULAR_H
#define VESTIGE_TOOLS_OPEN_REGULAR_H

#include <sys/stat.h>

/*
 * open_regular() - open a file for reading. A FIFO or a device is refused: open() does not wait.
 * @st: set to what fstat() gives. Return: a descriptor, to be closed; -errno with fail() set, which
 * names the file: -EINVAL if it is of another kind.
 */
int open_regular(const char *path, struct stat *st);

#endif
