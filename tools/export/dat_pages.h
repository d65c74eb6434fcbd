/* SPDX-License-Identifier: MIT */
/* Encodes the records of one CPU into the kernel's sub-buffers. */
#ifndef VESTIGE_TOOLS_DAT_PAGES_H
#define VESTIGE_TOOLS_DAT_PAGES_H

#include <stdint.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_chunks.h"
#include "tools/reader/reader.h"

struct subbuf_writer {
	struct chunks *out;
	unsigned char *own; /* memory of the current chunk; NULL: chunks_get(), see subbuf_init() */
	uint32_t tag;	    /* with own: for chunks_note() */
	int (*sink)(void *arg, const unsigned char *chunk, uint32_t bytes); /* instead of out */
	void *arg;
	bool values;	      /* the reader's: which forms of events; set after subbuf_init() */
	unsigned char *chunk; /* the current chunk: from chunks_get(), or own; NULL: none */
	uint32_t page_bytes;  /* of a sub-buffer */
	uint32_t head_bytes;  /* of its head: 8 and a long; may be set after subbuf_init() */
	uint32_t chunk_bytes; /* of a full chunk */
	uint32_t chunk_used;  /* bytes of complete sub-buffers in the chunk */
	unsigned char *page;  /* the sub-buffer that is filled; NULL: none */
	uint32_t used;	      /* bytes of it that are used, with its head */
	uint32_t limit;	      /* events end here; after it is room for a count of lost records */
	uint64_t ts;	      /* of the last event */
	uint64_t lost;	      /* records lost before it; RECORD_LOST_UNKNOWN: number not known */
	uint64_t nr_pages;    /* complete sub-buffers so far */
};

/*
 * subbuf_init() - for CPUs that are written one after the other: a chunk is filled in the memory of
 * chunks_get(@out). @chunk_bytes: of a full chunk, a multiple of SUBBUF_BYTES.
 */
void subbuf_init(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes);

/*
 * subbuf_init_own() - for several CPUs at once: a chunk is filled in memory of this writer, and
 * noted with @tag. Return: 0 or -ENOMEM, without fail(). The memory is freed by subbuf_free().
 */
int subbuf_init_own(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes,
		    uint32_t tag);
/*
 * subbuf_init_sink() - pass each sub-buffer, of @page_bytes, to @sink when the next one begins, the
 * last one in subbuf_end(). @sink: returns 0 or -errno, which subbuf_add() and subbuf_end() then
 * return. Return: as subbuf_init_own().
 */
int subbuf_init_sink(struct subbuf_writer *p, uint32_t page_bytes,
		     int (*sink)(void *arg, const unsigned char *chunk, uint32_t bytes), void *arg);
void subbuf_free(struct subbuf_writer *p);

/*
 * subbuf_add() - encode @nr records of one CPU.
 * Return: 0; -ENOTSUP: dat_events has no row for a record's kind; another -errno: writing has
 * failed. fail() is not set.
 */
int subbuf_add(struct subbuf_writer *p, const struct record *rec, unsigned int nr);

/*
 * subbuf_make_room() - make room for an event of @bytes, its head included, and set the time to
 * @ts. @lost: records that were lost before it. Return: 0 or -errno, as subbuf_add().
 */
int subbuf_make_room(struct subbuf_writer *p, uint64_t ts, uint64_t lost, uint32_t bytes);

/*
 * subbuf_reserve() - write an event's head, for a caller that encodes the data itself.
 * @ts, @lost: as for subbuf_make_room(). @data: bytes of the data, a multiple of 4, at most
 * 4 * EVENT_DATA_MAX. @err: set if NULL is returned.
 * Return: where the data goes, common fields first; NULL: writing has failed.
 */
static inline unsigned char *subbuf_reserve(struct subbuf_writer *p, uint64_t ts, uint64_t lost,
					    uint32_t data, int *err)
{
	uint32_t bytes = 4 + data, word;
	unsigned char *at;

	if (!p->page || lost || ts - p->ts > EVENT_DELTA_MAX || p->limit - p->used < bytes) {
		*err = subbuf_make_room(p, ts, lost, bytes);
		if (*err)
			return NULL;
	}
	at = p->page + p->used;
	word = data / 4u | (uint32_t)(ts - p->ts) << EVENT_TYPE_BITS;
	memcpy(at, &word, sizeof(word));
	p->used += bytes;
	p->ts = ts;
	return at + sizeof(word);
}

/* Complete the last sub-buffer and pass the last chunk on. Return: 0 or -errno. */
int subbuf_end(struct subbuf_writer *p);

#endif
