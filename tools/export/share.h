/* SPDX-License-Identifier: MIT */
/*
 * Makes a recording that can be given to others: calls with name, time and thread, without any data
 * of the program.
 */
#ifndef VESTIGE_TOOLS_SHARE_H
#define VESTIGE_TOOLS_SHARE_H

#include "tools/text/out.h"
#include "tools/text/view.h"

struct share_counts {
	uint64_t calls;	 /* begins of calls, and function records */
	uint64_t values; /* records with arguments or a result */
	uint64_t events, prints;
	uint64_t further;	 /* records of other buffers */
	uint64_t lost;		 /* records; RECORD_LOST_UNKNOWN: number not known */
	size_t threads, names;	 /* threads with records; names of threads */
	size_t objects, formats; /* paths of objects; formats of events */
	bool uname;
	uint64_t first, last; /* stamps of the first and the last record, in the reader's units */
};

/*
 * share() - write the calls of the recording @input to @output, a trace.dat.
 * @v: only wish.from, wish.to and wish.tids are used; from and to may count from the first record.
 * @before, @after: get the counts of @input, and of @output as it is read back.
 * Return: 0; -errno with fail() set: EINVAL: both are the same file; ENODATA: no call is left. If
 * it fails before @output is complete, @output is unchanged.
 */
int share(const char *input, const char *output, struct view *v, struct share_counts *before,
	  struct share_counts *after);

/* share_print() - print both counts as a table. */
void share_print(struct out *o, const struct share_counts *before,
		 const struct share_counts *after);

#endif
