/* SPDX-License-Identifier: MIT */
/*
 * Reads, writes and flushes of regular files and block devices, by the program's system calls
 * through libc: before and after each. Not seen: mapped files, io_uring, sendfile() and its like.
 */
#ifndef VESTIGE_SOURCES_FILE_IO_H
#define VESTIGE_SOURCES_FILE_IO_H

#include <stdint.h>

#include "engine/sources/source.h"

enum file_io_op { FILE_IO_READ, FILE_IO_WRITE, FILE_IO_FLUSH };

struct file_io {
	enum file_io_op op;
	int done;  /* 0: the call is about to be made; 1: it has returned */
	int sync;  /* the file is open with O_SYNC, O_DSYNC or O_DIRECT; or the call is a flush */
	int error; /* done: 0 or -errno */
	uint64_t device; /* the device that has the file, or the block device itself, as st_dev */
	uint64_t offset; /* in the file */
	uint64_t bytes;	 /* requested; if done: read or written */
};

/* Called before and after each call. Any context. */
struct file_io_listener {
	struct source_link link;
	void (*call)(const struct file_io *io);
};
/* Its want() fails with -ENODEV if system calls are not seen in this process. */
extern struct source file_ios;

#endif
