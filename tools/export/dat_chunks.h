/* SPDX-License-Identifier: MIT */
/*
 * A CPU's sub-buffers on their way into a trace.dat: chunks of whole sub-buffers, compressed by as
 * many threads as there are CPUs to spare and written in order.
 *
 * The thread that fills chunks (the producer) never idles: when all chunks are in use, it
 * compresses one itself. If no thread can be created, it does all the work.
 */
#ifndef VESTIGE_TOOLS_DAT_CHUNKS_H
#define VESTIGE_TOOLS_DAT_CHUNKS_H

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

struct chunks;

/*
 * chunks_zstd() - a context that packs chunks at @level, with a checksum in each frame, so that a
 * reader notices damage. Return: to be freed with ZSTD_freeCCtx(), or NULL if memory is short.
 */
ZSTD_CCtx *chunks_zstd(int level);

/*
 * @fd: where to write, by position.
 * @bytes: of a full chunk.
 * @zstd_level: 1..19: each chunk then has a head of two words, its sizes; 0: stored uncompressed.
 * Return: it, to be freed with chunks_free(), or NULL if memory is short.
 */
struct chunks *chunks_new(int fd, uint32_t bytes, int zstd_level);
void chunks_free(struct chunks *c);

/* Set the offset of the next chunk, and count chunks from zero again. Only after chunks_flush(). */
void chunks_start(struct chunks *c, uint64_t offset);

/* Room for a chunk, the same until chunks_put(); NULL when writing has failed. */
unsigned char *chunks_get(struct chunks *c);

/* Pass on the first @bytes of that room. Return: 0 or -errno, without fail(). */
int chunks_put(struct chunks *c, uint32_t bytes);

/*
 * chunks_swap() - pass on the first @bytes of a chunk that was filled in the caller's memory.
 * @own: the chunk, malloced with the size passed to chunks_new(); set to other memory of that size,
 * which the caller owns then, also after an error.
 * Return: as chunks_put().
 */
int chunks_swap(struct chunks *c, unsigned char **own, uint32_t bytes);

/*
 * chunks_note() - from now on remember the size of each chunk, with @tag.
 */
void chunks_note(struct chunks *c, uint32_t tag);

/*
 * chunks_of_calls() - compress chunks by dat_pack.h, if it supports them. Before the first chunk,
 * with a level of zstd.
 */
void chunks_of_calls(struct chunks *c);

/*
 * chunks_apart() - write chunks of @tag elsewhere: to @fd, from @offset on. Before the first chunk;
 * chunks_offset() then counts only the others.
 */
void chunks_apart(struct chunks *c, uint32_t tag, int fd, uint64_t offset);

struct chunk_note {
	uint32_t tag;	/* as it was when the chunk was put */
	uint32_t bytes; /* in the file */
};

/* After chunks_flush(): the chunks since the first chunks_note(). @nr: how many. Borrowed. */
const struct chunk_note *chunks_notes(const struct chunks *c, size_t *nr);

/*
 * chunks_new_workers() - replace the threads by new ones with the priority of the calling thread.
 * Waits for the current work of the old ones.
 */
void chunks_new_workers(struct chunks *c);

/* Wait until all is written. Return: 0 or -errno, without fail(). */
int chunks_flush(struct chunks *c);

/* After chunks_flush(): the end of what was written, and in how many chunks. */
uint64_t chunks_offset(const struct chunks *c);
uint32_t chunks_count(const struct chunks *c);

#endif
