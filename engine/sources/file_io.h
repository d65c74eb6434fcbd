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
	int done;	 /* 0: it is about to be called; 1: it has returned */
	int sync;	 /* the file is open with O_SYNC, O_DSYNC or O_DIRECT; or it is a flush */
	int error;	 /* done: 0 or -errno */
	uint64_t device; /* where the file is, or which it is, as st_dev */
	uint64_t offset; /* in the file */
	uint64_t bytes;	 /* asked for; if done: read or written */
};

/* Any context. */
struct file_io_listener {
	struct source_link link;
	void (*call)(const struct file_io *io);
};
/* -ENODEV: system calls are not seen here. */
extern struct source file_ios;

#endif
