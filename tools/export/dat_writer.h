/* SPDX-License-Identifier: MIT */
/*
 * The state of a trace.dat that is being written, shared by dat_write.c and dat_write6.c (version
 * 6).
 */
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

/* A further buffer, after the first one. */
struct more {
	struct dat_second *joined;
	const char *name;
	uint64_t *offset, *bytes; /* of its CPUs' data in the file */
	uint64_t at;		  /* offset of its section; version 6: of its table of CPUs */
};

struct writer {
	struct dat_file file;
	struct reader *r;
	const struct dat_options *opt;
	int version;
	int level;
	uint64_t offset; /* end of the written data */
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
	struct native_known known; /* facts about the calls, if there are calls */
	struct dat_graph *graph;   /* the calls; NULL: there are none */
	struct dat_native *native; /* its pages are being packed already; or NULL */
	struct dat_copy *copy;	   /* of the calls' chunks, beside what is written now; or NULL */
	bool compact;		   /* the calls are, or are tried, in the compact form */
	struct more *more;	   /* opt->nr_more of them */
	const struct more *now;	   /* the current buffer; NULL: the first one */
	/* offsets at which values are written later, when they are known */
	uint64_t table_at; /* version 6: the table of the CPUs' data */
	/*
	 * version 7: for the offset of the first options, for the offset of the second options; the
	 * head of the buffer's section
	 */
	uint64_t head_at, done_at, buffer_at;
};

/* Each returns 0, or -errno with fail() set. */

/* Write @bytes at @offset of the file, or append them at w->offset, which moves. */
int dat_writer_put_at(struct writer *w, const void *buf, size_t bytes, uint64_t offset);
int dat_writer_append(struct writer *w, const void *buf, size_t bytes);
/* Run @fill on a stream in memory. *@text: malloced. */
int dat_writer_in_memory(struct writer *w, void (*fill)(FILE *f, struct reader *r), char **text,
			 size_t *bytes);
/* Write the head of the file; the sections of formats and names, for all buffers. */
int dat_writer_initial(struct writer *w);
int dat_writer_sections(struct writer *w);
/* Write the records of a further buffer. */
int dat_writer_more(struct writer *w, const struct more *m);
/*
 * Write the native section, to which no option points. @name_at: the offset of its description in
 * the table of strings; version 6: 0.
 */
int dat_writer_native(struct writer *w, uint32_t name_at);

/* dat_write6.c: write everything before the first buffer's data; everything after it. */
int dat_writer_front6(struct writer *w);
int dat_writer_back6(struct writer *w);

#endif
