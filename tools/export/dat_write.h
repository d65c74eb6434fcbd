/* SPDX-License-Identifier: MIT */
/* Writes a trace.dat of version 6 or 7, for trace-cmd, KernelShark and our own reader. */
#ifndef VESTIGE_TOOLS_DAT_WRITE_H
#define VESTIGE_TOOLS_DAT_WRITE_H

#include <stdint.h>

#include "tools/reader/reader.h"

struct dat_live;

/* A further buffer, after the first one. */
struct dat_more {
	const char *name;
	struct reader *r; /* is read to its end */
};

struct dat_options {
	int version;		     /* 6 or 7 */
	int zstd_level;		     /* 1..19; 0: do not compress. Version 6 is never compressed */
	const char *name;	     /* of the first buffer; NULL: it is the top instance's */
	const struct dat_more *more; /* further buffers */
	unsigned int nr_more;
	struct dat_live *live; /* the part that is encoded already; NULL: none */
	bool learn;	       /* stacks are known to be deeper at first: see DAT_GRAPH_LEARN */
	bool native; /* also the ring's pages, for our reader: native.h. Only if @r reads pages */
	/* Called from time to time: @done events of about @total are written; NULL: never. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

#define DAT_CHUNK_BYTES (24u * 4096u) /* sub-buffers that are compressed together */
#define DAT_FIRST_CHUNK (4096u + 4u)  /* offset of the first CPU's chunks in version 7 */

#define DAT_PROGRESS_EVERY (UINT64_C(1) << 16)
#define DAT_NATIVE_SHARE   8 /* a native record costs an 8th of an event */

/* Report progress, if it is time to. @done: events written, with the @added new ones. */
static inline void dat_progress(const struct dat_options *opt, const struct reader *r,
				uint64_t done, uint64_t added)
{
	uint64_t total = 0;

	if (!opt->progress || done / DAT_PROGRESS_EVERY == (done - added) / DAT_PROGRESS_EVERY)
		return;
	for (unsigned int cpu = 0; r->stats && cpu < r->nr_cpus; cpu++)
		total += r->stats[cpu].entries;
	opt->progress(opt->progress_arg, done,
		      opt->native ? total + total / DAT_NATIVE_SHARE : total);
}

/*
 * dat_write() - write all records of @r, and of opt->more, to @path.
 * @path: replaced atomically: the old file stays until the new one is complete.
 * @r: is read to its end.
 * Return: 0, or -errno with fail() set, and the unfinished file is removed. For ENOSPC, the message
 * has the file and the size that was written.
 */
int dat_write(const char *path, struct reader *r, const struct dat_options *opt);

#endif
