/* SPDX-License-Identifier: MIT */
/*
 * btt's tables of a recording: how long requests take from step to step (queue, get, insert or
 * merge, issue, complete), queue depths, seeks, active periods; of all, by device and process.
 * Equal to btt's (blktrace 1.2.0) for the same records. Tests: tests/cli/test_blk.py.
 */
#ifndef VESTIGE_TOOLS_BLK_TIMES_H
#define VESTIGE_TOOLS_BLK_TIMES_H

#include "tools/blk/blk_event.h"
#include "tools/blk/blk_io.h"
#include "tools/text/out.h"

struct blk_times_flags {
	const char *folder;
	const char *const *names;
	unsigned int nr_names;
	bool all;			   /* tables of each process and device, too */
	bool json;			   /* as JSON */
	bool absolute;			   /* seeks from the end of the last request */
	double range_s;			   /* a pause this long ends an active stretch */
	double from_s, to_s;		   /* to_s 0: to the end */
	const char *devices;		   /* "MAJ,MIN;MAJ,MIN": of these; NULL: of all */
	const char *programs;		   /* "NAME,NAME": of these; NULL: of all */
	const struct blk_program *program; /* tables of its I/O, too; NULL: none */
};

/* Print them on @o. Return: 0 or -errno with fail() set. */
int blk_times(const struct blk_times_flags *f, struct out *o);

#endif
