/* SPDX-License-Identifier: MIT */
/* A trace.dat being opened, and the pieces around its CPUs' data: for dat_read.c, dat_options.c. */
#ifndef VESTIGE_TOOLS_DAT_PIECES_H
#define VESTIGE_TOOLS_DAT_PIECES_H

#include "tools/area/pages.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/dat_stream.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"
#include "tools/reader/reader.h"

#define DAT_NAME_BYTES 256u

struct dat_reader {
	struct reader head; /* must be first */
	char *path;
	uint64_t file_bytes;
	int version;
	bool ours; /* written by vestige: its `entries` are what the file holds */
	struct formats formats;
	struct printks printks;
	uint32_t cpus_given; /* version 6: entries in the table of CPUs */
	bool buffer_found;
	struct dat_layout layout;
	struct dat_stream *streams;	/* head.nr_cpus */
	struct reader_cpu_stats *stats; /* as the options give them; in the end head.stats */
	unsigned int nr_stats;
	struct pages *native; /* read in place of the streams; NULL: native.h */
};

/* fail() for a damaged file; for lack of memory. Return: -EINVAL, -ENOMEM. */
int dat_damaged(const struct dat_reader *d, const char *what);
int dat_no_memory(const struct dat_reader *d);
/* The state of a piece's cursor at its end. Return: 0, or as dat_damaged(). */
int dat_check(const struct dat_reader *d, const struct cursor *c, const char *what);

/*
 * The pieces, in the order of version 6; formats are of use only with the header's facts. Each
 * returns 0 or -errno with fail() set, and leaves the cursor behind itself.
 */
#define DAT_NR_PIECES 6u
struct dat_piece {
	uint16_t id; /* version 7: of its section, and of the option that points there */
	int (*parse)(struct dat_reader *d, struct cursor *c);
};
extern const struct dat_piece dat_pieces[DAT_NR_PIECES];

/* Version 7: a section's head at the cursor; @bytes follow it, which is checked. */
int dat_section_head(struct dat_reader *d, struct cursor *c, uint16_t want, bool *packed,
		     uint64_t *bytes);
/* Version 7: unpack the section at @at and parse it as the piece that it is. */
int dat_section_read(struct dat_reader *d, const struct dat_piece *piece, uint64_t at);

#endif
