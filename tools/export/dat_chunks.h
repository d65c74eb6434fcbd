/* SPDX-License-Identifier: MIT */
/*
 * A CPU's sub-buffers on their way into a trace.dat: chunks of whole sub-buffers, compressed by as
 * many threads as there are CPUs to spare and written in order.
 *
 * The thread that fills chunks (the producer) never waits idly: when all chunks are under way, it
 * compresses one itself. Without threads (none could be had) all works as before, by one.
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
 * @zstd_level: 1..19, each chunk then has a head of two words, its sizes; 0: stored as it is.
 * Return: it, to be freed with chunks_free(), or NULL if memory is short.
 */
struct chunks *chunks_new(int fd, uint32_t bytes, int zstd_level);
void chunks_free(struct chunks *c);

/* Where the next chunk goes, and a count of chunks from zero. Only after chunks_flush(). */
void chunks_start(struct chunks *c, uint64_t offset);

/* Room for a chunk, the same until chunks_put(); NULL when writing has failed. */
unsigned char *chunks_get(struct chunks *c);

/* Hand over the first @bytes of the room. Return: 0 or -errno, without fail(). */
int chunks_put(struct chunks *c, uint32_t bytes);

/*
 * chunks_swap() - hand over the first @bytes of a chunk that was filled elsewhere.
 * @own: the chunk, malloced with the size passed to chunks_new(); set to other memory of that size,
 * which is the caller's from then on, also after an error.
 * Return: as chunks_put().
 */
int chunks_swap(struct chunks *c, unsigned char **own, uint32_t bytes);

/*
 * chunks_note() - from now on remember each chunk that is put by @tag and its size.
 */
void chunks_note(struct chunks *c, uint32_t tag);

/*
 * chunks_of_calls() - chunks are packed by dat_pack.h, where that can. Before the first chunk, with
 * a level of zstd.
 */
void chunks_of_calls(struct chunks *c);

/*
 * chunks_apart() - chunks of @tag go to a place of their own: @fd, from @offset on. Before the
 * first chunk; chunks_offset() is of the others alone.
 */
void chunks_apart(struct chunks *c, uint32_t tag, int fd, uint64_t offset);

struct chunk_note {
	uint32_t tag;	/* as it was when the chunk was put */
	uint32_t bytes; /* in the file */
};

/* After chunks_flush(): the chunks since the first chunks_note(). @nr: how many. Borrowed. */
const struct chunk_note *chunks_notes(const struct chunks *c, size_t *nr);

/*
 * End the threads and begin new ones, which have the caller's priority, where others called so far.
 * Waits for what they are at.
 */
void chunks_new_workers(struct chunks *c);

/* Wait until all is written. Return: 0 or -errno, without fail(). */
int chunks_flush(struct chunks *c);

/* After chunks_flush(): the end of what was written, and in how many chunks. */
uint64_t chunks_offset(const struct chunks *c);
uint32_t chunks_count(const struct chunks *c);

#endif
