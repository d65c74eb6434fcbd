/* SPDX-License-Identifier: MIT */
/* Shared by the files of `vestige split`; no other file includes it. */
#ifndef VESTIGE_TOOLS_REPORT_SPLIT_IMPL_H
#define VESTIGE_TOOLS_REPORT_SPLIT_IMPL_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "tools/base/fail.h"
#include "tools/dat/dat_pieces.h"
#include "tools/export/dat_file.h"
#include "tools/report/split.h"

/* A CPU of a buffer: its next records, and the sub-buffers of the part that is being made. */
struct split_stream {
	struct dat_buffer *b;
	struct dat_stream *in;
	struct record *batch;
	int nr, at;
	uint64_t ns; /* of the next record, as report prints it */
	bool ended;
	FILE *spool;
	uint64_t bytes; /* in it */
	unsigned char *page;
	uint32_t used, limit; /* of the page; 0: there is none */
	uint64_t ts, lost;    /* time of the last event; lost records before the page */
	uint64_t events, pages;
	uint64_t at_in_file, bytes_in_file;
};

/* A buffer of the output; the first one is the top buffer. */
struct out_buffer {
	const struct dat_buffer *b; /* of the input; NULL: the output buffer is empty */
	const char *name;
};

struct splitter {
	const struct split_options *o;
	struct dat_reader *d;
	struct split_stream *streams;
	size_t nr;
	struct out_buffer *outs;
	size_t nr_outs;	      /* 1 or more */
	uint32_t mult, shift; /* of its stamps */
	uint64_t offset;
	struct dat_file file;
	uint64_t at; /* offset in the output */
	int err;     /* the first error of a write: later writes do nothing */
	ZSTD_CCtx *zstd;
};

/* Is buffer number @i of the input in the output? */
static inline bool split_keeps(const struct splitter *s, size_t i)
{
	const struct split_options *o = s->o;

	if (!o->top && !o->nr_buffers)
		return true;
	if (!i)
		return o->top;
	for (unsigned int k = 0; k < o->nr_buffers; k++)
		if (!strcmp(o->buffers[k], s->d->buffers[i].name))
			return true;
	return false;
}

static inline int split_no_memory(void)
{
	return fail(ENOMEM, "out of memory while splitting");
}

/* Store a number of 1 to 8 @bytes in the input's byte order. */
static inline void split_number(const struct splitter *s, unsigned char *to, uint64_t v,
				unsigned int bytes)
{
	if (s->d->layout.swap)
		v = __builtin_bswap64(v) >> (64 - 8 * bytes);
	memcpy(to, &v, bytes);
}

/*
 * split_write_file() - write one part: the input's pieces, and the sub-buffers of all CPUs.
 * s->file is open and empty; the caller commits or aborts it. Return: 0 or -errno with fail() set.
 */
int split_write_file(struct splitter *s);

#endif
