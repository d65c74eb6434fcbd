/* SPDX-License-Identifier: MIT */
/* As blkparse: prints a recording of blktrace as lines or sums, or merges it to one file. */
#ifndef VESTIGE_TOOLS_BLK_PARSE_H
#define VESTIGE_TOOLS_BLK_PARSE_H

#include "tools/blk/blk_line.h"

struct blk_parse {
	const char *folder; /* before the names; NULL */
	const char *const *names;
	unsigned int nr_names;
	struct blk_formats formats;
	uint32_t mask;		 /* categories that are shown; 0: all */
	uint64_t from_ns, to_ns; /* of the time that is shown; to_ns 0: to the end */
	const char *merged;	 /* write the records to this file; NULL */
	bool no_text, quiet, processes, by_name, times;
	bool json;	  /* only the sums, as JSON */
	bool messages;	  /* also those with a control group, which blkparse 1.2.0 leaves out */
	bool no_messages; /* none in the merged file */
};

/* Print the recording to @o. Return: 0 or -errno with fail() set. */
int blk_parse(const struct blk_parse *p, struct out *o);

#endif
