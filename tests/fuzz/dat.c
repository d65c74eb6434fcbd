/* SPDX-License-Identifier: MIT */
/*
 * The reader of trace.dat, of our files and of the kernel's. Version 7 is followed through its
 * options and sections; in version 6 and in the data the fields of sub-buffers are what is changed,
 * in a native block its tables and what its chunks unpack to, with sizes that agree.
 */
#include "fuzz.h"

#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "tools/area/page_pack.h"
#include "tools/dat/native.h"
#include "tools/reader/reader.h"

#define BASE	  sizeof(struct fuzz_file)
#define MAX_FOUND 128

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_read(data, n, reader_open_dat, 0);
}

/* Places of fields of 2, 4 or 8 bytes: heads of sections and options, and what these
 * say. */
static unsigned int find_fields(const struct mangle *m, size_t *at)
{
	size_t pos = 12, options, end, len;
	unsigned int nr = 0, chain;

	if (m->n < BASE + 64 || m->p[BASE + 10] != '7')
		return 0;
	/* magic, "7", byte order, size of long, page size, name and version of the compression */
	pos += 6;
	for (int i = 0; i < 2 && BASE + pos < m->n; i++)
		pos += strnlen((const char *)m->p + BASE + pos, m->n - BASE - pos) + 1;
	at[nr++] = BASE + pos;
	options = mangle_get(m, BASE + pos, 8);
	for (chain = 0; chain < 4 && options && options < m->n - BASE; chain++) {
		at[nr++] = BASE + options;
		pos = options + 16;
		end = pos + mangle_get(m, BASE + options + 8, 8);
		options = 0;
		while (nr + 4 < MAX_FOUND && pos < end && BASE + pos + 6 < m->n) {
			unsigned int id = (unsigned int)mangle_get(m, BASE + pos, 2);

			len = mangle_get(m, BASE + pos + 2, 4);
			at[nr++] = BASE + pos;
			at[nr++] = BASE + pos + 2;
			at[nr++] =
				BASE + pos + 6 + 4 * mangle_random((struct mangle *)m, len / 4 + 1);
			if (len >= 8 && mangle_get(m, BASE + pos + 6, 8) < m->n)
				at[nr++] = BASE + mangle_get(m, BASE + pos + 6, 8);
			if (!id)
				options = mangle_get(m, BASE + pos + 6, 8);
			pos += 6 + len;
		}
	}
	return nr;
}

/* A native block, its tables unpacked. */
struct block {
	struct native_tail tail;
	uint8_t *raw; /* tables */
	size_t bytes, room;
};

static bool block_open(const struct mangle *m, struct block *b)
{
	static uint8_t raw[1u << 20];
	struct native_tail *t = &b->tail;
	size_t bytes, n;

	if (m->n < BASE + sizeof(*t))
		return false;
	bytes = m->n - BASE;
	memcpy(t, m->p + m->n - sizeof(*t), sizeof(*t));
	if (t->magic != NATIVE_MAGIC || t->tables_offset > bytes - sizeof(*t) ||
	    t->chunks_offset > t->tables_offset || t->tables_bytes > sizeof(raw) ||
	    t->tables_packed != bytes - sizeof(*t) - t->tables_offset)
		return false;
	n = ZSTD_decompress(raw, sizeof(raw), m->p + BASE + t->tables_offset, t->tables_packed);
	if (ZSTD_isError(n) || n != t->tables_bytes || n < sizeof(struct native_head))
		return false;
	b->raw = raw;
	b->bytes = n;
	b->room = sizeof(raw);
	return true;
}

/* Put the tables behind the chunks, which end at tables_offset, and a tail that agrees. */
static void block_close(struct mangle *m, struct block *b)
{
	static uint8_t packed[1u << 20];
	struct native_tail *t = &b->tail;
	size_t n = ZSTD_compress(packed, sizeof(packed), b->raw, b->bytes, 1);

	if (ZSTD_isError(n) || BASE + t->tables_offset + n + sizeof(*t) > m->max)
		return;
	memcpy(m->p + BASE + t->tables_offset, packed, n);
	t->tables_packed = n;
	t->tables_bytes = b->bytes;
	t->file_bytes = t->tables_offset + n + sizeof(*t);
	m->n = BASE + (size_t)t->file_bytes;
	memcpy(m->p + m->n - sizeof(*t), t, sizeof(*t));
}

/* Fields anywhere, most of them counts; or a count that grows, with the rows that it counts. */
static void mangle_tables(struct mangle *m, struct block *b)
{
	struct mangle raw = {b->raw, b->bytes, b->room, mangle_random(m, 0)};

	for (uint64_t i = mangle_random(m, 3) + 1; i; i--) {
		size_t at = mangle_random(m, mangle_random(m, 2) ? 64 : raw.n) & ~(size_t)3;

		if (mangle_random(m, 4))
			mangle_set(&raw, at, 4, mangle_value(m));
		else
			mangle_grow(&raw, at, 4);
	}
	if (!mangle_random(m, 4))
		mangle_repeat(&raw, 8 * mangle_random(m, raw.n / 8 + 1), 8);
	b->bytes = raw.n;
}

/*
 * A chunk unpacked, changed and packed again with sizes that agree: counts in its head that grow,
 * its pages' heads, more or fewer words than it says.
 */
static void mangle_chunk(struct mangle *m, struct block *b)
{
	static uint8_t raw[2 * PACK_MAX_BYTES], packed[2 * PACK_MAX_BYTES];
	struct native_head head;
	struct native_chunk *chunk;
	uint32_t sizes[2], had;
	uint64_t at = BASE + b->tail.chunks_offset, nr;
	struct mangle r = {raw, 0, sizeof(raw), mangle_random(m, 0)};
	size_t n, rows;

	memcpy(&head, b->raw, sizeof(head));
	if (!head.nr_chunks || head.nr_chunks > b->bytes / sizeof(*chunk) ||
	    head.nr_pages > b->bytes / sizeof(struct native_page))
		return;
	rows = head.nr_chunks * sizeof(*chunk) + head.nr_pages * sizeof(struct native_page);
	if (rows > b->bytes)
		return;
	chunk = (struct native_chunk *)(b->raw + b->bytes - rows);
	for (nr = mangle_random(m, head.nr_chunks); nr; nr--)
		at += chunk++->packed;
	had = chunk->packed;
	if (at > m->n || had > m->n - at || had < sizeof(sizes))
		return;
	n = ZSTD_decompress(raw, sizeof(raw), m->p + at + sizeof(sizes), had - sizeof(sizes));
	if (ZSTD_isError(n))
		return;
	r.n = n;
	for (nr = mangle_random(m, 3) + 1; nr; nr--)
		switch (mangle_random(m, 5)) {
		case 0:
			mangle_grow(&r, 4 * mangle_random(m, 6), 4);
			break;
		case 1:
			mangle_field(&r, 4 * mangle_random(m, 6), 4);
			break;
		case 2: /* a page's head, or how many words it has */
			mangle_page(&r, sizeof(struct pack_head) +
						sizeof(struct pack_page) *
							mangle_random(m, chunk->nr_pages + 1));
			break;
		case 3:
			mangle_field(&r,
				     sizeof(struct pack_head) +
					     sizeof(struct pack_page) *
						     mangle_random(m, chunk->nr_pages + 1) +
					     sizeof(struct page_head) + 2 * mangle_random(m, 2),
				     2);
			break;
		default:
			mangle_repeat(&r, 2 * mangle_random(m, r.n / 2 + 1),
				      2 << mangle_random(m, 3));
		}
	n = ZSTD_compress(packed, sizeof(packed), raw, r.n, 1);
	if (ZSTD_isError(n) || n + sizeof(sizes) > m->max - (m->n - had))
		return;
	sizes[0] = (uint32_t)n;
	sizes[1] = (uint32_t)r.n;
	mangle_cut(m, at, had);
	mangle_insert(m, at, packed, n);
	mangle_insert(m, at, sizes, sizeof(sizes));
	chunk->packed = (uint32_t)(n + sizeof(sizes));
	b->tail.tables_offset += chunk->packed - (uint64_t)had;
}

/* A native block with consistent sizes, but changed unpacked data. */
static void mangle_native(struct mangle *m)
{
	struct block b;

	if (!block_open(m, &b))
		return;
	if (mangle_random(m, 2))
		mangle_chunk(m, &b);
	else
		mangle_tables(m, &b);
	block_close(m, &b);
}

/*
 * The text of an option of version 7 becomes another number, greater the longer it is: what is
 * added to all stamps, counts of CPUs and of losses.
 */
static void grow_number(struct mangle *m, const size_t *at, unsigned int nr)
{
	size_t i = at[mangle_random(m, nr)], end;

	while (i < m->n && (m->p[i] < '0' || m->p[i] > '9'))
		i++;
	for (end = i; end < m->n && m->p[end] >= '0' && m->p[end] <= '9';)
		end++;
	/* in place: the sizes of options and sections stay right */
	for (; i < end; i++)
		m->p[i] = (uint8_t)(mangle_random(m, 3) ? '9' : '0' + mangle_random(m, 10));
}

static void mutate(struct mangle *m)
{
	static const unsigned int widths[] = {2, 4, 8};
	size_t at[MAX_FOUND], page;
	unsigned int nr;

	switch (mangle_random(m, 10)) {
	case 0:
		mangle_change(m);
		break;
	case 1:
		mangle_any(m);
		break;
	case 2:
	case 3: /* a sub-buffer: its stamp and commit, or the words of its first events */
		page = BASE + 4096 * mangle_random(m, m->n / 4096 + 1);
		mangle_field(m, page + 4 * mangle_random(m, mangle_random(m, 2) ? 6 : 64), 4);
		break;
	case 8:
	case 9:
		mangle_native(m);
		break;
	case 4:
		mangle_field(m, BASE + mangle_random(m, 128), widths[mangle_random(m, 3)]);
		break;
	default:
		nr = find_fields(m, at);
		if (nr && !mangle_random(m, 4))
			grow_number(m, at, nr);
		else if (nr)
			mangle_field(m, at[mangle_random(m, nr)] + 4 * mangle_random(m, 4),
				     widths[mangle_random(m, 3)]);
		else
			mangle_any(m);
	}
}

const struct fuzz_target fuzz_dat = {"dat", run, mutate};
