/* SPDX-License-Identifier: MIT */
/* A file that replaces another one when it is complete. If it is not completed, it is removed. */
#ifndef VESTIGE_TOOLS_DAT_FILE_H
#define VESTIGE_TOOLS_DAT_FILE_H

#include <stdbool.h>
#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>

struct dat_file {
	int fd;
	const char *path; /* as the user gave it */
	char *target;	  /* the file that is replaced, with symbolic links resolved */
	char *tmp;	  /* path of the unfinished file, in the same folder; NULL: it is gone */
	mode_t mode;	  /* of the new file: that of the file that it replaces */
	bool unnamed;	  /* the unfinished file has no name yet */
	bool held;	  /* we have blocked SIGXFSZ */
};

/*
 * dat_file_create() - begin a new file for @path. SIGXFSZ is blocked in this thread until the file
 * is committed or aborted, so a limit on file sizes gives an error and does not end the program.
 * Return: 0, and the caller must call dat_file_commit() or dat_file_abort(); or -errno with fail()
 * set: EISDIR, EINVAL (a device or pipe), EACCES, ENOENT (of the folder), ENOSPC, ...
 */
int dat_file_create(struct dat_file *f, const char *path);

/*
 * dat_file_create_unnamed() - the same, but the file has no name yet, so it is removed even if the
 * process is killed. If the file system has no such files, it has a name. Call dat_file_adopt()
 * before dat_file_commit().
 */
int dat_file_create_unnamed(struct dat_file *f, const char *path);

/*
 * dat_file_adopt() - move the file of @from to @f and to this thread, and give it a name. @path and
 * return: as for dat_file_create().
 */
int dat_file_adopt(struct dat_file *f, struct dat_file *from, const char *path);

/*
 * Replace the old file and close the new one. Return: 0 or -errno with fail() set; in both cases it
 * is done.
 */
int dat_file_commit(struct dat_file *f);

/* Remove the unfinished file. */
void dat_file_abort(struct dat_file *f);

/* Set fail() for a write that failed with @err (-errno), with the remedy. Return: @err. */
int dat_file_failed(const struct dat_file *f, int err);

/* Write all of @buf at @offset. Return: 0 or -errno, without fail(). */
int dat_file_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset);

#endif
