/* SPDX-License-Identifier: MIT */
/*
 * See dat_chunks.h. Chunks are in a ring of slots. A slot is EMPTY, then the producer fills it
 * (RAW), then any free worker packs it (PACKED), and when all slots before it are written, it is
 * written and EMPTY again.
 *
 * The lock covers everything except the bytes of a slot while a thread works on it. Compressing a
 * chunk takes 20 to 100 us, so the cost of the lock cannot be measured. Bench: transcoding in
 * `make bench`. Tests: tests/unit/test_dat_write.c.
 */
#include "tools/export/dat_chunks.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/base/array.h"
#include "tools/base/signals.h"
#include "tools/export/dat_file.h"
#include "tools/export/dat_pack.h"

#define NR_SLOTS    32u
#define MAX_WORKERS 3
#define HEAD_BYTES  8u
#define PLACE_BYTES (1u << 20)

enum slot_state { EMPTY, RAW, PACKING, PACKED };

struct slot {
	enum slot_state state;
	unsigned char *raw;
	uint32_t raw_bytes;
	unsigned char *packed; /* what goes into the file; raw itself when not compressed */
	size_t packed_bytes;
	uint32_t tag;
};

/*
 * A place in a file, for one chunk after another. PLACE_BYTES are written at once: the kernel needs
 * half of the time that a write for each chunk takes.
 */
struct place {
	int fd;
	uint64_t offset;
	unsigned char *bytes; /* the last ones before @offset, not written yet; NULL: none */
	size_t nr;
};

/* The packers of one thread. */
struct packer {
	ZSTD_CCtx *z;
	struct dat_packer *calls; /* NULL: not made yet */
};

struct chunks {
	struct place to, apart; /* apart: for records of apart_tag, with has_apart */
	bool has_apart;
	uint32_t apart_tag;
	int level;
	bool of_calls;
	uint32_t bytes;
	int nr_workers;
	pthread_t workers[MAX_WORKERS];
	pthread_mutex_t lock;
	pthread_cond_t work; /* a slot became RAW, or the end */
	pthread_cond_t done; /* a slot became EMPTY */
	bool end;
	bool writing;
	int err; /* -errno of the first failure; nothing is written after it */
	uint32_t count;
	bool noting;
	uint32_t tag;
	struct chunk_note *notes;
	size_t nr_notes, room_notes;
	/* each counts slots since the beginning; fill >= pack >= write */
	uint64_t fill, pack, write;
	struct packer own; /* the producer's */
	struct slot slots[NR_SLOTS];
};

static struct slot *slot_at(struct chunks *c, uint64_t n)
{
	return &c->slots[n % NR_SLOTS];
}

ZSTD_CCtx *chunks_zstd(int level)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (z && (ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level)) ||
		  ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1)))) {
		ZSTD_freeCCtx(z);
		return NULL;
	}
	return z;
}

static void packer_clear(struct packer *k)
{
	ZSTD_freeCCtx(k->z);
	dat_packer_free(k->calls);
}

static int pack(struct chunks *c, struct slot *s, struct packer *k)
{
	size_t n = 0, bound = ZSTD_compressBound(c->bytes);
	uint32_t sizes[2];

	if (!c->level) {
		s->packed_bytes = s->raw_bytes;
		return 0;
	}
	if (!k->z)
		return -ENOMEM;
	if (c->of_calls && !k->calls)
		k->calls = dat_packer_new();
	if (k->calls)
		n = dat_pack(k->calls, s->packed + HEAD_BYTES, bound, s->raw, s->raw_bytes);
	if (!n)
		n = ZSTD_compress2(k->z, s->packed + HEAD_BYTES, bound, s->raw, s->raw_bytes);
	if (ZSTD_isError(n))
		return -ENOMEM;
	sizes[0] = (uint32_t)n;
	sizes[1] = s->raw_bytes;
	memcpy(s->packed, sizes, HEAD_BYTES);
	s->packed_bytes = n + HEAD_BYTES;
	return 0;
}

static int note(struct chunks *c, const struct slot *s)
{
	if (ARRAY_ROOM(c->notes, c->nr_notes, c->room_notes, 256))
		return -ENOMEM;
	c->notes[c->nr_notes++] = (struct chunk_note){s->tag, (uint32_t)s->packed_bytes};
	return 0;
}

/* Write the bytes that are not written yet. Return: 0 or -errno; an error drops them. */
static int place_write(struct place *to)
{
	size_t nr = to->nr;

	to->nr = 0;
	return nr ? dat_file_pwrite(to->fd, to->bytes, nr, to->offset - nr) : 0;
}

static int place_add(struct place *to, const unsigned char *from, size_t bytes)
{
	int ret = 0;

	if (!to->bytes)
		to->bytes = malloc(PLACE_BYTES);
	if (!to->bytes) {
		ret = dat_file_pwrite(to->fd, from, bytes, to->offset);
		to->offset += bytes;
		return ret;
	}
	while (bytes && !ret) {
		size_t n = PLACE_BYTES - to->nr < bytes ? PLACE_BYTES - to->nr : bytes;

		memcpy(to->bytes + to->nr, from, n);
		to->nr += n;
		to->offset += n;
		from += n;
		bytes -= n;
		if (to->nr == PLACE_BYTES)
			ret = place_write(to);
	}
	return ret;
}

/* Write what is next in order; one thread at a time. Called and returns with the lock held. */
static void write_ready(struct chunks *c)
{
	if (c->writing)
		return;
	c->writing = true;
	while (c->write < c->pack && slot_at(c, c->write)->state == PACKED) {
		struct slot *s = slot_at(c, c->write);
		struct place *to = c->has_apart && s->tag == c->apart_tag ? &c->apart : &c->to;
		int ret = 0;

		if (!c->err) {
			pthread_mutex_unlock(&c->lock);
			ret = place_add(to, s->packed, s->packed_bytes);
			pthread_mutex_lock(&c->lock);
		}
		if (ret && !c->err)
			c->err = ret;
		c->count++;
		if (c->noting && !c->err)
			c->err = note(c, s);
		s->state = EMPTY;
		c->write++;
		pthread_cond_broadcast(&c->done);
	}
	c->writing = false;
}

/* Take the oldest RAW slot through to PACKED. With the lock held; false when there is none. */
static bool pack_one(struct chunks *c, struct packer *k)
{
	struct slot *s;
	int ret;

	if (c->pack == c->fill)
		return false;
	s = slot_at(c, c->pack++);
	s->state = PACKING;
	pthread_mutex_unlock(&c->lock);
	ret = pack(c, s, k);
	pthread_mutex_lock(&c->lock);
	if (ret && !c->err)
		c->err = ret;
	s->state = PACKED;
	write_ready(c);
	return true;
}

static void *worker(void *arg)
{
	struct chunks *c = arg;
	struct packer k = {.z = c->level ? chunks_zstd(c->level) : NULL};

	pthread_mutex_lock(&c->lock);
	/* one without a context leaves the work to the others */
	while (!c->end && (k.z || !c->level)) {
		if (!pack_one(c, &k))
			pthread_cond_wait(&c->work, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	packer_clear(&k);
	return NULL;
}

static void start_workers(struct chunks *c)
{
	long nr = sysconf(_SC_NPROCESSORS_ONLN) - 1;

	/* a thread helps on a single CPU, too: it writes while the producer reads */
	if (nr < 1)
		nr = 1;
	if (nr > MAX_WORKERS)
		nr = MAX_WORKERS;
	for (; nr > 0; nr--) {
		if (thread_without_signals(&c->workers[c->nr_workers], worker, c))
			break;
		c->nr_workers++;
	}
}

struct chunks *chunks_new(int fd, uint32_t bytes, int zstd_level)
{
	struct chunks *c = calloc(1, sizeof(*c));
	unsigned int i;

	if (!c)
		return NULL;
	c->to.fd = fd;
	c->bytes = bytes;
	c->level = zstd_level;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->work, NULL);
	pthread_cond_init(&c->done, NULL);
	if (c->level)
		c->own.z = chunks_zstd(c->level);
	if (c->level && !c->own.z)
		goto fail;
	for (i = 0; i < NR_SLOTS; i++) {
		struct slot *s = &c->slots[i];

		s->raw = malloc(bytes);
		if (!s->raw)
			goto fail;
		s->packed = c->level ? malloc(HEAD_BYTES + ZSTD_compressBound(bytes)) : s->raw;
		if (!s->packed)
			goto fail;
	}
	start_workers(c);
	return c;
fail:
	chunks_free(c);
	errno = ENOMEM;
	return NULL;
}

static void end_workers(struct chunks *c)
{
	pthread_mutex_lock(&c->lock);
	c->end = true;
	pthread_cond_broadcast(&c->work);
	pthread_mutex_unlock(&c->lock);
	while (c->nr_workers)
		pthread_join(c->workers[--c->nr_workers], NULL);
}

void chunks_new_workers(struct chunks *c)
{
	end_workers(c);
	c->end = false;
	start_workers(c);
}

void chunks_free(struct chunks *c)
{
	int i;

	if (!c)
		return;
	end_workers(c);
	for (i = 0; i < (int)NR_SLOTS; i++) {
		if (c->slots[i].packed != c->slots[i].raw)
			free(c->slots[i].packed);
		free(c->slots[i].raw);
	}
	free(c->notes);
	free(c->to.bytes);
	free(c->apart.bytes);
	packer_clear(&c->own);
	pthread_cond_destroy(&c->done);
	pthread_cond_destroy(&c->work);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

void chunks_start(struct chunks *c, uint64_t offset)
{
	c->to.offset = offset;
	c->count = 0;
}

void chunks_of_calls(struct chunks *c)
{
	c->of_calls = c->bytes <= DAT_PACK_MAX;
}

void chunks_apart(struct chunks *c, uint32_t tag, int fd, uint64_t offset)
{
	c->has_apart = true;
	c->apart_tag = tag;
	c->apart = (struct place){.fd = fd, .offset = offset};
}

unsigned char *chunks_get(struct chunks *c)
{
	unsigned char *room = NULL;

	pthread_mutex_lock(&c->lock);
	while (!c->err && slot_at(c, c->fill)->state != EMPTY) {
		if (!pack_one(c, &c->own))
			pthread_cond_wait(&c->done, &c->lock);
	}
	if (!c->err)
		room = slot_at(c, c->fill)->raw;
	pthread_mutex_unlock(&c->lock);
	return room;
}

int chunks_put(struct chunks *c, uint32_t bytes)
{
	struct slot *s;
	int ret;

	pthread_mutex_lock(&c->lock);
	ret = c->err;
	if (!ret) {
		s = slot_at(c, c->fill++);
		s->raw_bytes = bytes;
		s->tag = c->tag;
		s->state = RAW;
		pthread_cond_signal(&c->work);
	}
	pthread_mutex_unlock(&c->lock);
	return ret;
}

int chunks_swap(struct chunks *c, unsigned char **own, uint32_t bytes)
{
	unsigned char *room = chunks_get(c);
	struct slot *s;
	int ret;

	if (!room) {
		ret = chunks_flush(c);
		return ret ? ret : -EIO;
	}
	/* an empty slot is the producer's */
	s = slot_at(c, c->fill);
	if (s->packed == room)
		s->packed = *own;
	s->raw = *own;
	*own = room;
	return chunks_put(c, bytes);
}

int chunks_flush(struct chunks *c)
{
	int ret;

	pthread_mutex_lock(&c->lock);
	while (c->write < c->fill) {
		if (!pack_one(c, &c->own))
			pthread_cond_wait(&c->done, &c->lock);
	}
	/* every chunk is written, so no other thread uses the places */
	ret = place_write(&c->to) ?: place_write(&c->apart);
	if (ret && !c->err)
		c->err = ret;
	ret = c->err;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

void chunks_note(struct chunks *c, uint32_t tag)
{
	pthread_mutex_lock(&c->lock);
	c->noting = true;
	c->tag = tag;
	pthread_mutex_unlock(&c->lock);
}

const struct chunk_note *chunks_notes(const struct chunks *c, size_t *nr)
{
	*nr = c->nr_notes;
	return c->notes;
}

uint64_t chunks_offset(const struct chunks *c)
{
	return c->to.offset;
}

uint32_t chunks_count(const struct chunks *c)
{
	return c->count;
}
