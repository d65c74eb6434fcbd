/* SPDX-License-Identifier: MIT */
/* trace.dat, versions 6 and 7: what trace-cmd, KernelShark and our own reader open. */
#ifndef VESTIGE_TOOLS_DAT_WRITE_H
#define VESTIGE_TOOLS_DAT_WRITE_H

#include <stdint.h>

#include "tools/reader/reader.h"

struct dat_options {
	int version;	/* 6 or 7 */
	int zstd_level; /* 1..19; 0: do not compress. Version 6 is never compressed */
	bool native; /* the ring's pages as well, for our own reader: native.h. Of a spool alone */
	/* Called now and then with records written so far; NULL none. */
	void (*progress)(void *arg, uint64_t records);
	void *progress_arg;
};

/*
 * dat_write() - write all that @r holds.
 * @path: replaced atomically: the old file stays until the new one is complete.
 * @r: is read to its end.
 * Return: 0, or -errno with fail() set (ENOSPC names the file and what was needed); the unfinished
 * file is removed then.
 */
int dat_write(const char *path, struct reader *r, const struct dat_options *opt);

#endif
