/* SPDX-License-Identifier: MIT */
/* An open file of a target: its reads and writes. */
#ifndef VESTIGE_TOOLS_MOUNT_FILE_H
#define VESTIGE_TOOLS_MOUNT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tools/target/target.h"

struct file;

/*
 * file_open() - open @path of @t's tree, as open(2) with @flags.
 * Return: 0 and *@out, to be closed with file_release(), which releases @t, too; or -errno, and @t
 * is still the caller's.
 */
int file_open(struct target *t, const char *path, int flags, struct file **out);

/*
 * FUSE reports a last close after close() has returned, so what is busy may be a file that was just
 * closed. file_close_comes() - wait a little, FILE_CLOSE_TRIES times at most; *@tries: 0 at first.
 * Return: whether to try again what has ended with @err.
 */
#define FILE_CLOSE_TRIES 20
bool file_close_comes(int err, int *tries);

enum file_how {
	FILE_WAIT,     /* wait for data */
	FILE_NONBLOCK, /* O_NONBLOCK is set now */
	FILE_SPLICE,   /* by splice(2): only whole sub-buffers, without waiting */
};

/* As pread(2) and pwrite(2) of a tracefs file. */
ssize_t file_read(struct file *f, char *buf, size_t bytes, off_t offset, enum file_how how);
ssize_t file_write(struct file *f, const char *buf, size_t bytes);

/*
 * file_flush() - close() of one of its descriptors. Return: the result of the close.
 * file_wants_flush() - whether file_flush() has any effect.
 */
int file_flush(struct file *f);
bool file_wants_flush(const struct file *f);
void file_release(struct file *f);

/*
 * file_poll() - the result of poll(2) now.
 * @handle: a struct fuse_pollhandle to be notified when there is something to read; NULL: none. The
 * file owns it.
 * @wanted: the requested events, POLLIN ... Return: POLLIN, POLLOUT ...
 */
unsigned int file_poll(struct file *f, void *handle, unsigned int wanted);

/* Is there something to read now? */
bool file_ready(struct file *f);

#endif
