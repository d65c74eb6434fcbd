/* SPDX-License-Identifier: MIT */
/*
 * A trace.dat: its buffers and options, and the pieces other than its CPUs' data. Used by the
 * reader of records (dat_read.c), and by the commands that show a file unchanged (dat_open()).
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
	struct dat_layout layout;			  /* of its streams */
	uint32_t nr_cpus;
	uint32_t nr_with_data;	    /* of the CPUs */
	struct dat_stream *streams; /* nr_cpus */
	/* Offset and size of version 7's section, or of version 6's table of CPUs. */
	uint64_t at, bytes;
	/* For a latency tracer: the text that it has in place of records. */
	bool is_text, text_packed;
	uint64_t text_at, text_bytes;
};

/* An option of the file, unchanged. */
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
	uint64_t at, bytes; /* offset of its head; size of the data behind the head */
};

/* The reader of dat_open(). */
struct dat_reader {
	struct reader head; /* must be first */
	char *path;
	uint64_t file_bytes;
	int version;
	bool ours; /* written by vestige: its `entries` count the records in the file */
	struct formats formats;
	struct printks printks;
	uint32_t cpus_given; /* version 6: entries in the table of CPUs */
	uint64_t pieces_at;  /* offset of the pieces; in version 7, of the first section */
	uint32_t page_bytes; /* from the file's head */
	char compressor[32], compressor_version[64]; /* version 7 */
	struct dat_layout layout;
	struct dat_buffer *buffers; /* in the file's order */
	size_t nr_buffers, buffers_room;
	struct dat_buffer *top;		 /* the buffer whose records `head` reads */
	struct dat_stream *streams;	 /* of `top`; head.nr_cpus */
	struct job_thread *jobs;	 /* loads windows of all streams; NULL: none does */
	struct dat_option_data *options; /* only with as_is */
	size_t nr_options, options_room;
	struct dat_section_place *sections; /* only with as_is; those that options point to */
	size_t nr_sections, sections_room;
	struct reader_cpu_stats *stats; /* from the options; later head.stats */
	unsigned int nr_stats;
	size_t ends_room;
	struct dat_swap *swaps; /* for a file of the other byte order without as_is; else NULL */
	struct pages *native;	/* read in place of the streams (native.h); NULL: none */
};

/*
 * dat_damaged() - fail() for a damaged file; @what: the damaged part. Return: -EINVAL.
 * dat_no_memory() - fail() when memory is short. Return: -ENOMEM.
 */
int dat_damaged(const struct dat_reader *d, const char *what);
int dat_no_memory(const struct dat_reader *d);
/*
 * dat_open() - open a trace.dat with all its buffers.
 * @as_is: see struct dat_layout. Records of the CPUs are read by dat_stream_read(), and no format
 * is parsed by libtraceevent yet.
 * @out: to be closed with reader_close(&d->head). Return: as reader_open().
 */
int dat_open(const char *path, bool as_is, struct dat_reader **out);

/* Check the cursor behind a piece: has a read failed? Return: 0, or as dat_damaged(). */
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
 * dat_buffer_text() - the text of a latency tracer. @b: is_text is set.
 * @out: malloced, with a NUL behind. Return: 0 or as dat_damaged().
 */
int dat_buffer_text(struct dat_reader *d, const struct dat_buffer *b, unsigned char **out,
		    uint64_t *out_bytes);

/*
 * The pieces, in the order of version 6. The header comes first, since formats need its facts.
 * parse() returns 0 or -errno with fail() set, and leaves the cursor behind the piece.
 */
#define DAT_NR_PIECES 6u
struct dat_piece {
	uint16_t id; /* version 7: of its section, and of the option that points there */
	int (*parse)(struct dat_reader *d, struct cursor *c);
};
extern const struct dat_piece dat_pieces[DAT_NR_PIECES];

/*
 * Version 7: read the head of a section at the cursor. @want: the id that it must have. @packed:
 * whether it is compressed. @bytes: the size of its data, checked against the file.
 */
int dat_section_head(struct dat_reader *d, struct cursor *c, uint16_t want, bool *packed,
		     uint64_t *bytes);
/*
 * dat_section_body() - the data of a section, unpacked.
 * @head: a cursor behind the section's head. @out: malloced, with a NUL behind. Return: 0 or as
 * dat_damaged().
 */
int dat_section_body(struct dat_reader *d, struct cursor *head, bool packed, uint64_t bytes,
		     unsigned char **out, uint64_t *out_bytes);
/* Version 7: unpack the section at @at and parse it as @piece. */
int dat_section_read(struct dat_reader *d, const struct dat_piece *piece, uint64_t at);

#endif
