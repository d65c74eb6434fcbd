/* SPDX-License-Identifier: MIT */
/* A file that takes another's place when it is complete, and leaves nothing behind when not. */
#ifndef VESTIGE_TOOLS_DAT_FILE_H
#define VESTIGE_TOOLS_DAT_FILE_H

#include <stddef.h>
#include <stdint.h>

struct dat_file {
	int fd;
	const char *path; /* as the user gave it */
	char *target;	  /* what is replaced: behind symbolic links */
	char *tmp;	  /* the unfinished file, beside it; NULL when it is gone */
};

/*
 * file_create() - begin a new file that is to be @path.
 * Return: 0, and file_commit() or file_abort() is owed; or -errno with fail() set: EISDIR,
 * EINVAL (a device or pipe), EACCES, ENOENT (of the folder), ENOSPC, ...
 */
int file_create(struct dat_file *f, const char *path);

/* Put the file in its place and close it. Return: 0 or -errno with fail() set; nothing is owed. */
int file_commit(struct dat_file *f);

/* Remove the unfinished file. */
void file_abort(struct dat_file *f);

/* Set fail() for a write that gave @err (-errno), with what the user can do. Return: @err. */
int file_failed(const struct dat_file *f, int err);

/* All of @buf at @offset. Return: 0 or -errno, without fail(). */
int file_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset);

#endif
