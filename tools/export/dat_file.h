/* SPDX-License-Identifier: MIT */
/* A new file that replaces the old one when it is complete. Otherwise it is removed. */
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
	mode_t mode;	  /* of the new file: the mode of the old file */
	bool unnamed;	  /* the unfinished file has no name yet */
	bool held;	  /* we have blocked SIGXFSZ */
};

/*
 * dat_file_create() - begin a new file for @path. SIGXFSZ is blocked in this thread until the file
 * is committed or aborted, so a limit on file sizes gives an error and does not end the program.
 * @path: borrowed until then.
 * Return: 0, and the caller must call dat_file_commit() or dat_file_abort(); or -errno with fail()
 * set: EISDIR, EINVAL (a device or pipe), EACCES, ENOENT (no such folder), ENOSPC, ...
 */
int dat_file_create(struct dat_file *f, const char *path);

/*
 * dat_file_create_unnamed() - the same, but the file has no name yet (O_TMPFILE), so it is removed
 * even if the process is killed. Call dat_file_adopt() before dat_file_commit().
 * Return: as dat_file_create(); -ENOTSUP with fail() set: such a file cannot be created there.
 */
int dat_file_create_unnamed(struct dat_file *f, const char *path);

/*
 * dat_file_adopt() - move the file of @from to @f and to the calling thread, and give it a name.
 * @path and return: as for dat_file_create().
 */
int dat_file_adopt(struct dat_file *f, struct dat_file *from, const char *path);

/*
 * Close the new file and replace the old one. Return: 0, or -errno with fail() set, and then the
 * new file is removed. In both cases @f needs no other call.
 */
int dat_file_commit(struct dat_file *f);

/* Close and remove the unfinished file. */
void dat_file_abort(struct dat_file *f);

/* Set fail() for a write that failed with @err (-errno), with a remedy if any. Return: @err. */
int dat_file_failed(const struct dat_file *f, int err);

/*
 * dat_file_beside() - make a file without a name in the folder of the new file. @suffix: of its
 * name until it has none. Return: a descriptor, for reading and writing; -errno with fail() set.
 */
int dat_file_beside(const struct dat_file *f, const char *suffix);

/* Write all of @buf at @offset. Return: 0 or -errno, without fail(). */
int dat_file_pwrite(int fd, const void *buf, size_t bytes, uint64_t offset);

#endif
