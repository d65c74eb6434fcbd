/* SPDX-License-Identifier: MIT */
/* Parts of a trace.dat as files of their own: `vestige split`. */
#ifndef VESTIGE_TOOLS_REPORT_SPLIT_H
#define VESTIGE_TOOLS_REPORT_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#define SPLIT_MAX_BUFFERS 256u

enum split_limit { SPLIT_NONE, SPLIT_NS, SPLIT_EVENTS, SPLIT_PAGES };

struct split_options {
	const char *input,
		*output; /* files OUTPUT.1, or with repeat OUTPUT.0001, OUTPUT.0002 ... */
	enum split_limit limit;
	uint64_t most; /* ns of a file, its events, its sub-buffers of a CPU */
	bool repeat;   /* go on with the next file until the end */
	bool per_cpu;  /* events are counted for each CPU; pages always are */
	int cpu;       /* -1: all */
	const char *buffers[SPLIT_MAX_BUFFERS]; /* instances that are kept */
	unsigned int nr_buffers;
	const char *promoted; /* of @buffers: it becomes the top buffer; NULL: none */
	const char *
		top_name; /* with @top: the top buffer becomes an instance of this name; NULL: it stays */
	bool top;	  /* the top buffer is kept; neither @top nor @nr_buffers: all are */
	bool has_begin, has_end;
	uint64_t begin_ns, end_ns; /* as report prints them */
};

/*
 * split() - write them. The options of the input are kept, in its version, byte order and compression; the
 * statistics of the whole are left out. Without a top buffer the output has an empty one, as readers expect it.
 * @nr: how many files were written. Return: 0 or -errno with fail() set: ENODATA no record is there; ENOENT the
 * input has no such buffer; EINVAL two buffers would have one name.
 */
int split(const struct split_options *o, unsigned int *nr);

#endif
