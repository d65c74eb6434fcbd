/* SPDX-License-Identifier: MIT */
/* The spool's reader: chunk by chunk, each kind by its structure. */
#include "fuzz.h"

#include <string.h>

#include "tools/area/spool_format.h"
#include "tools/reader/reader.h"

#define MAX_CHUNKS 64

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_read(data, n, reader_open_spool, 1);
}

/* Where the chunks are, as far as they can be followed. */
static unsigned int find_chunks(const struct mangle *m, size_t *at)
{
	size_t pos =
		sizeof(struct fuzz_file) +
		mangle_get(m, sizeof(struct fuzz_file) + offsetof(struct spool_head, head_bytes),
			   4);
	unsigned int nr = 0;

	while (nr < MAX_CHUNKS && pos < m->n && m->n - pos >= sizeof(struct spool_chunk)) {
		uint64_t length = mangle_get(m, pos + offsetof(struct spool_chunk, length), 8);

		at[nr++] = pos;
		pos += sizeof(struct spool_chunk);
		if (length > m->n - pos)
			break;
		pos += length;
	}
	return nr;
}

/*
 * The packed page at @at in the long form, with up to as many words as its head has bytes for or
 * more: what unpacks to no page, whose size in the file is more than a page's.
 */
static void grow_packed(struct mangle *m, size_t chunk, size_t at)
{
	const size_t head = sizeof(struct spool_packed);
	uint64_t nr = 1 + mangle_random(m, mangle_random(m, 4) ? 600 : 5461);
	uint64_t had = mangle_get(m, at + offsetof(struct spool_packed, bytes), 2);
	uint64_t used = mangle_get(m, chunk + offsetof(struct spool_chunk, used), 8);
	uint64_t length = mangle_get(m, chunk + offsetof(struct spool_chunk, length), 8);
	size_t before = (had + 7) & ~(size_t)7, after = (12 * nr + 7) & ~(size_t)7;
	uint8_t *data;

	if (at > m->n || m->n - at < head + before || after < before)
		return;
	data = calloc(1, after);
	if (!data)
		return;
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t word = i ? UINT64_C(2) << 60 | i : mangle_value(m);

		memcpy(data + 12 * i, &(uint32_t){3u << 30}, 4);
		memcpy(data + 12 * i + 4, &word, sizeof(word));
	}
	if (after <= m->max - (m->n - before)) {
		mangle_cut(m, at + head, before);
		mangle_insert(m, at + head, data, after);
		mangle_set(m, at + offsetof(struct spool_packed, bytes), 2, 12 * nr);
		mangle_set(m, at + offsetof(struct spool_packed, packed), 2, 1);
		mangle_set(m, at + offsetof(struct spool_packed, head.commit), 8,
			   mangle_random(m, 4) ? PAGE_HEAD_BYTES + 8 * nr : mangle_value(m));
		mangle_set(m, chunk + offsetof(struct spool_chunk, used), 8, used + after - before);
		mangle_set(m, chunk + offsetof(struct spool_chunk, length), 8,
			   length + after - before);
	}
	free(data);
}

static void mutate_chunk(struct mangle *m, size_t at)
{
	static const uint8_t fields[] = {0, 4, 8, 16, 24};
	uint64_t length = mangle_get(m, at + offsetof(struct spool_chunk, length), 8);
	size_t body = at + sizeof(struct spool_chunk), slot;

	length = length < m->n - body ? length : m->n - body;
	if (!mangle_random(m, 6)) {
		unsigned int field = fields[mangle_random(m, sizeof(fields))];

		mangle_field(m, at + field, field < 16 ? 4 : 8);
		return;
	}
	switch (mangle_get(m, at + offsetof(struct spool_chunk, type), 4)) {
	case SPOOL_META:
		mangle_area(m, body, length);
		break;
	case SPOOL_PAGES:
		slot = body + sizeof(struct spool_slot) *
				      mangle_random(m, length / sizeof(struct spool_slot) + 1);
		if (mangle_random(m, 4))
			mangle_page(m, slot + offsetof(struct spool_slot, page));
		else
			mangle_field(m, slot + 8 * mangle_random(m, 2), 4);
		break;
	case SPOOL_PACKED:
		/* any of them: each says how long it is */
		for (slot = body; mangle_random(m, 4) && slot - body < length;)
			slot += sizeof(struct spool_packed) +
				((mangle_get(m, slot + offsetof(struct spool_packed, bytes), 2) +
				  7) &
				 ~(uint64_t)7);
		if (!mangle_random(m, 4))
			grow_packed(m, at, slot);
		else if (mangle_random(m, 4))
			mangle_page(m, slot + offsetof(struct spool_packed, head));
		else
			mangle_field(m, slot + 4 * mangle_random(m, 4), 4);
		break;
	default:
		mangle_field(m, body + 8 * mangle_random(m, length / 8 + 1), 8);
	}
}

static void mutate(struct mangle *m)
{
	size_t at[MAX_CHUNKS], from, len;
	unsigned int nr = find_chunks(m, at), i;
	uint8_t *copy;

	switch (mangle_random(m, 8)) {
	case 0:
		mangle_change(m);
		return;
	case 1:
		mangle_any(m);
		return;
	case 2:
		mangle_field(m, sizeof(struct fuzz_file) + 4 * mangle_random(m, 10), 4);
		return;
	}
	if (!nr)
		return;
	i = (unsigned int)mangle_random(m, nr);
	if (mangle_random(m, 8)) {
		mutate_chunk(m, at[i]);
		return;
	}
	/* a chunk goes, or comes twice, in another place */
	from = at[i];
	len = (i + 1 < nr ? at[i + 1] : m->n) - from;
	copy = malloc(len);
	if (copy && mangle_random(m, 2)) {
		memcpy(copy, m->p + from, len);
		mangle_insert(m, at[mangle_random(m, nr)], copy, len);
	} else {
		mangle_cut(m, from, len);
	}
	free(copy);
}

const struct fuzz_target fuzz_spool = {"spool", run, mutate};
