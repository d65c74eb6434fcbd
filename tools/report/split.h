/* SPDX-License-Identifier: MIT */
/* `vestige split`: writes parts of a trace.dat to files. */
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
	uint64_t most; /* limit of a file: ns, events, or sub-buffers of a CPU */
	bool repeat;   /* go on with the next file until the end */
	bool per_cpu;  /* events are counted for each CPU; pages always are */
	int cpu;       /* -1: all */
	const char *buffers[SPLIT_MAX_BUFFERS]; /* instances that are kept */
	unsigned int nr_buffers;
	const char *promoted; /* of @buffers: it becomes the top buffer; NULL: none */
	/* with @top: the top buffer becomes an instance of this name; NULL: it stays */
	const char *top_name;
	bool top; /* the top buffer is kept; neither @top nor @nr_buffers: all are */
	bool has_begin, has_end;
	uint64_t begin_ns, end_ns; /* times that report prints */
};

/*
 * split() - write the files. They have the options, version, byte order and compression of the
 * input, but not its statistics. If the top buffer is not kept, they have an empty one, since
 * readers expect one.
 * @nr: gets the number of files. Return: 0 or -errno with fail() set: ENODATA: there is no record;
 * ENOENT: the input has no such buffer; EINVAL: two buffers would have the same name.
 */
int split(const struct split_options *o, unsigned int *nr);

#endif
