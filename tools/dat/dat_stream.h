/* SPDX-License-Identifier: MIT */
/* One CPU's sub-buffers in a trace.dat, read and decoded piece by piece. */
#ifndef VESTIGE_TOOLS_DAT_STREAM_H
#define VESTIGE_TOOLS_DAT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/reader/formats.h"
#include "tools/reader/reader.h"

struct dat_stream {
	const struct dat_layout *layout;
	unsigned int cpu;
	uint64_t start, end;  /* of the CPU's data in the file */
	uint64_t pos;	      /* offset of the data that is loaded next */
	uint32_t chunks_left; /* compressed files */
	bool begun;
	unsigned char *buf; /* whole sub-buffers */
	size_t buf_room, buf_bytes, buf_pos;
	unsigned char *packed;
	size_t packed_room;
	unsigned char *data; /* of the current sub-buffer, NULL none */
	uint32_t at, commit; /* in data */
	uint64_t ts;	     /* of the last event, raw */
	uint64_t page_ts;
	uint64_t lost; /* lost records before the next one */
};

/* @bytes from @start are the CPU's; the caller has checked them against the file's size. */
void dat_stream_init(struct dat_stream *s, const struct dat_layout *layout, unsigned int cpu,
		     uint64_t start, uint64_t bytes);
/* Free what it has loaded and go back to the start. */
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
