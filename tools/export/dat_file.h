/* SPDX-License-Identifier: MIT */
/* A file that takes another's place when it is complete, and leaves nothing behind when not. */
#ifndef VESTIGE_TOOLS_DAT_FILE_H
#define VESTIGE_TOOLS_DAT_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>

struct dat_file {
	int fd;
	const char *path; /* as the user gave it */
	char *target;	  /* the file that is replaced: behind symbolic links */
	char *tmp;	  /* the unfinished file, beside it; NULL when it is gone */
	mode_t mode;	  /* of the new file: as the one that it replaces */
	bool unnamed;	  /* @tmp is not in the folder yet */
	bool held;	  /* SIGXFSZ is held off by us */
};

/*
 * dat_file_create() - begin a new file that is to be @path. SIGXFSZ is held off in this thread from
 * now until it is committed or aborted: a limit on file sizes is an error and does not end the
 * program.
 * Return: 0, and dat_file_commit() or dat_file_abort() is owed; or -errno with fail() set: EISDIR,
 * EINVAL (a device or pipe), EACCES, ENOENT (of the folder), ENOSPC, ...
 */
int dat_file_create(struct dat_file *f, const char *path);

/*
 * The same, but the file has no name yet, so that nothing is left of it when the process is killed.
 * Where the file system has no such files, it has one. dat_file_adopt() comes before
 * dat_file_commit().
 */
int dat_file_create_unnamed(struct dat_file *f, const char *path);

/*
 * @from's file is @f's now, and this thread's, and has a name. @path: as of dat_file_create().
 * Return: as that.
 */
int dat_file_adopt(struct dat_file *f, struct dat_file *from, const char *path);

/* Put the file in its place and close it. Return: 0 or -errno with fail() set; nothing is owed. */
int dat_file_commit(struct dat_file *f);

/* Remove the unfinished file. */
void dat_file_abort(struct dat_file *f);

/* Set fail() for a write that gave @err (-errno), with what the user can do. Return: @err. */
int dat_file_failed(const struct dat_file *f, int err);

/* All of @buf at @offset. Return: 0 or -errno, without fail(). */
int dat_file_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset);

#endif
