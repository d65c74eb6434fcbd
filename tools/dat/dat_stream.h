/* SPDX-License-Identifier: MIT */
/* One CPU's sub-buffers in a trace.dat, read and decoded piece by piece. */
#ifndef VESTIGE_TOOLS_DAT_STREAM_H
#define VESTIGE_TOOLS_DAT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/base/job.h"
#include "tools/reader/formats.h"
#include "tools/reader/reader.h"

/* Whole sub-buffers. */
struct dat_window {
	unsigned char *buf;
	size_t room, bytes;
};

struct dat_stream {
	const struct dat_layout *layout;
	unsigned int cpu;
	uint64_t start, end; /* of the CPU's data in the file */
	/* Where `load` reads: its, while it is begun. */
	uint64_t pos;	      /* offset of the data that is loaded next */
	uint32_t chunks_left; /* compressed files */
	bool begun;
	unsigned char *packed;
	size_t packed_room;
	struct dat_window next;

	struct job_thread *jobs; /* loads the next window early; NULL: no thread does. Borrowed */
	struct job load;
	unsigned int nr_loaded; /* windows */
	struct dat_window now;
	size_t buf_pos;	     /* in `now` */
	unsigned char *data; /* of the current sub-buffer, NULL none */
	uint32_t at, commit; /* in data */
	uint64_t ts;	     /* of the last event, raw */
	uint64_t page_ts;
	uint64_t lost; /* lost records before the next one */
};

/* @bytes from @start are the CPU's; the caller has checked them against the file's size. */
void dat_stream_init(struct dat_stream *s, const struct dat_layout *layout, unsigned int cpu,
		     uint64_t start, uint64_t bytes);
/* Free what it has loaded and go back to the start. s->jobs stays. */
void dat_stream_reset(struct dat_stream *s);
/*
 * dat_stream_bytes() - the size of all its sub-buffers, unpacked. It does not change the read
 * position.
 * @bytes: gets the size.
 * Return: 0 or -errno with fail() set.
 */
int dat_stream_bytes(const struct dat_stream *s, uint64_t *bytes);
/* As reader_ops.read. */
int dat_stream_read(struct dat_stream *s, struct record *out, unsigned int max);

#endif
