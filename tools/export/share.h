/* SPDX-License-Identifier: MIT */
/*
 * Makes a recording that can be given to others: calls by name, time and thread, without any data
 * of the program.
 */
#ifndef VESTIGE_TOOLS_SHARE_H
#define VESTIGE_TOOLS_SHARE_H

#include "tools/text/out.h"
#include "tools/text/view.h"

struct share_counts {
	uint64_t calls;	 /* that begin, and functions */
	uint64_t values; /* calls with arguments or a result */
	uint64_t events, prints;
	uint64_t further;	 /* records of other buffers */
	uint64_t lost;		 /* RECORD_LOST_UNKNOWN: not known */
	size_t threads, names;	 /* that have records; that have a name of their own */
	size_t objects, formats; /* paths of objects; formats of trace_printk() and events */
	bool uname;
	uint64_t first, last; /* ns, with calls, events or prints */
};

/*
 * share() - write @output, a trace.dat, of the calls of @input.
 * @v: only wish.from, wish.to and wish.tids are used; from and to may count from the first record.
 * @before, @after: get the contents of both files; the latter is read from the written file.
 * Return: 0; -errno with fail() set, and @output is unchanged: ENODATA: no call is left.
 */
int share(const char *input, const char *output, struct view *v, struct share_counts *before,
	  struct share_counts *after);

/* share_print() - print both as a table. */
void share_print(struct out *o, const struct share_counts *before,
		 const struct share_counts *after);

#endif
