/* SPDX-License-Identifier: MIT */
/* A trace.dat while it is written: what dat_write.c and dat_write6.c, which has version 6 alone, share. */
#ifndef VESTIGE_TOOLS_DAT_WRITER_H
#define VESTIGE_TOOLS_DAT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/export/dat_file.h"
#include "tools/export/dat_graph.h"
#include "tools/export/dat_native.h"
#include "tools/export/dat_second.h"
#include "tools/export/dat_write.h"

/* A buffer behind the first one. */
struct more {
	struct dat_second *joined;
	const char *name;
	uint64_t *offset, *bytes; /* of its CPUs' data in the file */
	uint64_t at;		  /* its section; version 6: its table of CPUs */
};

struct writer {
	struct dat_file file;
	struct reader *r;
	const struct dat_options *opt;
	int version;
	int level;
	uint64_t offset; /* the end of what is written */
	uint64_t records;
	struct prototypes *prototypes; /* of functions whose values are written; NULL: none are */
	uint64_t *cpu_offset, *cpu_bytes; /* in the file, a CPU each */
	/* version 7: descriptions of sections, and the options that point to them */
	char *strings;
	size_t strings_bytes;
	FILE *strings_mem;
	char *options;
	size_t options_bytes;
	FILE *options_mem;
	struct native_known known; /* when it has calls */
	struct dat_graph *graph;   /* the calls; NULL: there are none */
	bool compact;		   /* they are in the compact form, or are tried in it */
	struct more *more;	   /* opt->nr_more of them */
	const struct more *now;	   /* whose records are written; NULL: the first buffer's */
	/* what is written over when it is known */
	uint64_t table_at; /* version 6: of where the CPUs' data is */
	/* version 7: where the first options are, the end of the options, the buffer's section */
	uint64_t head_at, done_at, buffer_at;
};

/* Each returns 0, or -errno with fail() set. */

/* Write @bytes at @offset of the file; behind what is written, whose end moves. */
int dat_writer_put_at(struct writer *w, const void *buf, size_t bytes, uint64_t offset);
int dat_writer_append(struct writer *w, const void *buf, size_t bytes);
/* Run @fill on a stream in memory. *@text: malloced. */
int dat_writer_in_memory(struct writer *w, void (*fill)(FILE *f, struct reader *r), char **text,
			 size_t *bytes);
/* The head of the file; the sections of formats and names, which are of all buffers. */
int dat_writer_initial(struct writer *w);
int dat_writer_sections(struct writer *w);
/* The records of a further buffer. */
int dat_writer_more(struct writer *w, const struct more *m);
/* Our section, which no option leads to. @name_at: of its description; version 6: 0. */
int dat_writer_native(struct writer *w, uint32_t name_at);

/* dat_write6.c: all that comes before the first buffer's data, and behind it. */
int dat_writer_front6(struct writer *w);
int dat_writer_back6(struct writer *w);

#endif
