/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat: what it holds, and the pieces around its CPUs' data. The reader of records is made of it
 * (dat_read.c), and what shows a file as it is (dat_open()).
 */
#ifndef VESTIGE_TOOLS_DAT_PIECES_H
#define VESTIGE_TOOLS_DAT_PIECES_H

#include "tools/area/pages.h"
#include "tools/dat/dat_cursor.h"
#include "tools/dat/dat_stream.h"
#include "tools/reader/formats.h"
#include "tools/reader/printks.h"
#include "tools/reader/reader.h"

#define DAT_NAME_BYTES 256u

/* One of a file's buffers: the top one, whose name is empty, or an instance's. */
struct dat_buffer {
	char name[DAT_NAME_BYTES], clock[DAT_NAME_BYTES]; /* the clock: "" unknown */
	struct dat_layout layout;			  /* that its streams have */
	uint32_t nr_cpus;
	uint32_t nr_with_data;	    /* of the CPUs */
	struct dat_stream *streams; /* nr_cpus */
	/* Where it is: version 7's section, with its size; version 6's table of CPUs. */
	uint64_t at, bytes;
	/* Of a tracer of latencies: the text that it has in place of records. */
	bool is_text, text_packed;
	uint64_t text_at, text_bytes;
};

/* An option as the file has it. */
struct dat_option_data {
	uint16_t id;
	uint32_t bytes;
	char *data;  /* with a NUL behind */
	uint64_t at; /* of its data in the file */
};

/* A section of version 7. */
struct dat_section_place {
	uint16_t id, flags;
	uint32_t description;
	uint64_t at, bytes; /* of its head; of what follows that */
};

/* The three of dat_open() with as_is alone. */
struct dat_reader {
	struct reader head; /* must be first */
	char *path;
	uint64_t file_bytes;
	int version;
	bool ours; /* written by vestige: its `entries` are what the file holds */
	struct formats formats;
	struct printks printks;
	uint32_t cpus_given; /* version 6: entries in the table of CPUs */
	uint64_t pieces_at;  /* where they begin; of version 7, the first section */
	uint32_t page_bytes; /* as the file's head has it */
	char compressor[32], compressor_version[64]; /* version 7 */
	struct dat_layout layout;
	struct dat_buffer *buffers; /* in the file's order */
	size_t nr_buffers, buffers_room;
	struct dat_buffer *top;		 /* which head is about */
	struct dat_stream *streams;	 /* its; head.nr_cpus */
	struct dat_option_data *options; /* as_is alone */
	size_t nr_options, options_room;
	struct dat_section_place *sections; /* as_is alone; those that options name */
	size_t nr_sections, sections_room;
	struct reader_cpu_stats *stats; /* as the options give them; in the end head.stats */
	unsigned int nr_stats;
	size_t ends_room;
	struct dat_swap *swaps; /* of a file of the other byte order, not as_is; else NULL */
	struct pages *native;	/* read in place of the streams; NULL: native.h */
};

/* fail() for a damaged file; for lack of memory. Return: -EINVAL, -ENOMEM. */
int dat_damaged(const struct dat_reader *d, const char *what);
int dat_no_memory(const struct dat_reader *d);
/*
 * dat_open() - a trace.dat with all its buffers.
 * @as_is: see struct dat_layout. Records of the CPUs are read by dat_stream_read(), and no format is parsed by
 * libtraceevent yet.
 * @out: to be closed with reader_close(&d->head). Return: as reader_open().
 */
int dat_open(const char *path, bool as_is, struct dat_reader **out);

/* The state of a piece's cursor at its end. Return: 0, or as dat_damaged(). */
int dat_check(const struct dat_reader *d, const struct cursor *c, const char *what);

/* A cursor in the file's byte order: from @at of the file to its end; over memory. */
static inline void dat_cursor_on_file(const struct dat_reader *d, struct cursor *c, uint64_t at)
{
	cursor_on_file(c, d->layout.fd, at, d->file_bytes);
	c->swap = d->layout.swap;
}

static inline void dat_cursor_on_memory(const struct dat_reader *d, struct cursor *c,
					const void *mem, size_t bytes)
{
	cursor_on_memory(c, mem, bytes);
	c->swap = d->layout.swap;
}

/*
 * dat_buffer_text() - the text of a tracer of latencies. @b: is_text.
 * @out: malloced, with a NUL behind. Return: 0 or as dat_damaged().
 */
int dat_buffer_text(struct dat_reader *d, const struct dat_buffer *b, unsigned char **out,
		    uint64_t *out_bytes);

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
/*
 * dat_section_body() - what a section holds, unpacked.
 * @head: behind it. @out: malloced, with a NUL behind. Return: 0 or as dat_damaged().
 */
int dat_section_body(struct dat_reader *d, struct cursor *head, bool packed, uint64_t bytes,
		     unsigned char **out, uint64_t *out_bytes);
/* Version 7: unpack the section at @at and parse it as the piece that it is. */
int dat_section_read(struct dat_reader *d, const struct dat_piece *piece, uint64_t at);

#endif
