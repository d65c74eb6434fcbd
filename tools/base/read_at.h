/* SPDX-License-Identifier: MIT */
/* Read all of the bytes at an offset of a file. */
#ifndef VESTIGE_TOOLS_READ_AT_H
#define VESTIGE_TOOLS_READ_AT_H

#include <stddef.h>
#include <stdint.h>

/*
 * read_at() - pread() until @bytes are there; a signal does not end it.
 * Return: 0; -ENODATA: the file ends before; another -errno. Without fail().
 */
int read_at(int fd, void *to, size_t bytes, uint64_t offset);

/*
 * read_at_or_fail() - the same, with fail() set after an error, which names the file @what.
 * Return: 0; -EINVAL: the file ends before; another -errno.
 */
int read_at_or_fail(int fd, void *to, size_t bytes, uint64_t offset, const char *what);

#endif
