/* SPDX-License-Identifier: MIT */
/* trace.dat, versions 6 and 7: what trace-cmd, KernelShark and our own reader open. */
#ifndef VESTIGE_TOOLS_DAT_WRITE_H
#define VESTIGE_TOOLS_DAT_WRITE_H

#include <stdint.h>

#include "tools/reader/reader.h"

struct dat_live;

/* A buffer behind the first one. */
struct dat_more {
	const char *name;
	struct reader *r; /* is read to its end */
};

struct dat_options {
	int version;		     /* 6 or 7 */
	int zstd_level;		     /* 1..19; 0: do not compress. Version 6 is never compressed */
	const char *name;	     /* of the first buffer; NULL: it is the top one */
	const struct dat_more *more; /* further buffers */
	unsigned int nr_more;
	struct dat_live *live; /* what is encoded already; NULL: nothing */
	bool learn;	       /* stacks are known to be deeper at first: see DAT_GRAPH_LEARN */
	bool native; /* the ring's pages as well, for our own reader: native.h. Of a spool alone */
	/* Called now and then with how much is done of about @total; NULL none. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *progress_arg;
};

#define DAT_CHUNK_BYTES (24u * 4096u) /* sub-buffers that are compressed together */
#define DAT_FIRST_CHUNK (4096u + 4u)  /* in version 7: where the first CPU's are in the file */

#define DAT_PROGRESS_EVERY (UINT64_C(1) << 16)
#define DAT_NATIVE_SHARE   8 /* a native record costs an 8th of an event */

/* @added more events are written, which makes @done; said where it is time to. */
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
 * dat_write() - write all records of @r.
 * @path: replaced atomically: the old file stays until the new one is complete.
 * @r: is read to its end.
 * Return: 0, or -errno with fail() set (ENOSPC names the file and what was needed); the unfinished
 * file is removed then.
 */
int dat_write(const char *path, struct reader *r, const struct dat_options *opt);

#endif
