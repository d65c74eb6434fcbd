/* SPDX-License-Identifier: MIT */
/* One CPU's records into the kernel's sub-buffers. */
#ifndef VESTIGE_TOOLS_DAT_PAGES_H
#define VESTIGE_TOOLS_DAT_PAGES_H

#include <stdint.h>
#include <string.h>

#include "tools/dat/dat_format.h"
#include "tools/export/dat_chunks.h"
#include "tools/reader/reader.h"

struct subbuf_writer {
	struct chunks *out;
	unsigned char *own; /* where a chunk is filled while others are; NULL: see subbuf_init() */
	uint32_t tag;	    /* for chunks_note() then */
	int (*sink)(void *arg, const unsigned char *chunk, uint32_t bytes); /* instead of out */
	void *arg;
	bool values;	      /* as the reader's: which forms of events; set behind subbuf_init() */
	unsigned char *chunk; /* room from chunks_get(), or own; NULL none */
	uint32_t page_bytes;  /* of a sub-buffer */
	uint32_t head_bytes;  /* of its head: 8 and a long; may be set behind subbuf_init() */
	uint32_t chunk_bytes; /* of a full one */
	uint32_t chunk_used;  /* complete sub-buffers */
	unsigned char *page;  /* being filled, NULL none */
	uint32_t used;	      /* of the page, its head included */
	uint32_t limit;	      /* events end here: the page's, less the count of what was lost */
	uint64_t ts;	      /* of the last event */
	uint64_t lost;	      /* before the page; RECORD_LOST_UNKNOWN: some */
	uint64_t nr_pages;    /* so far */
};

/* One CPU after the other: a chunk is filled in the room that @out lends. */
void subbuf_init(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes);

/*
 * subbuf_init_own() - several CPUs at once: a chunk is filled in memory of its own and noted as
 * @tag. Return: 0 or -ENOMEM, without fail(). The memory is freed by subbuf_free().
 */
int subbuf_init_own(struct subbuf_writer *p, struct chunks *out, uint32_t chunk_bytes,
		    uint32_t tag);
/*
 * subbuf_init_sink() - each sub-buffer, of @page_bytes, goes to @sink when it is full, or by
 * subbuf_end(). @sink: returns 0 or -errno, which subbuf_add() and subbuf_end() return then.
 * Return: as subbuf_init_own().
 */
int subbuf_init_sink(struct subbuf_writer *p, uint32_t page_bytes,
		     int (*sink)(void *arg, const unsigned char *chunk, uint32_t bytes), void *arg);
void subbuf_free(struct subbuf_writer *p);

/*
 * subbuf_add() - encode @nr records of one CPU.
 * Return: 0; -ENOTSUP, without fail(), at a record of a kind that dat_events does not have;
 * another -errno when writing has failed.
 */
int subbuf_add(struct subbuf_writer *p, const struct record *rec, unsigned int nr);

/*
 * subbuf_make_room() - room for an event of @bytes at @ts, its head included, @lost records after
 * the one before it. Return: as subbuf_add().
 */
int subbuf_make_room(struct subbuf_writer *p, uint64_t ts, uint64_t lost, uint32_t bytes);

/*
 * subbuf_reserve() - an event's head, for a caller that encodes it itself.
 * @data: bytes of its data, a multiple of 4, at most 4 * EVENT_DATA_MAX. @err: set when NULL is
 * returned.
 * Return: where its data goes, common fields first.
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

/* Complete the last sub-buffer and hand over the last chunk. Return: 0 or -errno. */
int subbuf_end(struct subbuf_writer *p);

#endif
