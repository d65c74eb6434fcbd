/* SPDX-License-Identifier: MIT */
/*
 * The reader of trace.dat, of our files and of the kernel's. Version 7 is followed through its
 * options and sections; in version 6 and in the data the fields of sub-buffers are what is changed,
 * in a native block its tables, with sums that agree.
 */
#include "fuzz.h"

#include <string.h>
#include <zstd.h>

#include "tools/reader/native.h"
#include "tools/reader/reader.h"

#define BASE	  sizeof(struct fuzz_file)
#define MAX_FOUND 128

static void run(const uint8_t *data, size_t n)
{
	fuzz_file_read(data, n, reader_open_dat, 0);
}

/* Places where a field of 2, 4 or 8 bytes stands: heads of sections and options, and what these say. */
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

/* The tables of a native block, or its chunks, changed so that all sums agree again. */
static void mangle_native(struct mangle *m)
{
	static uint8_t raw[1u << 20], packed[1u << 20];
	struct native_tail t;
	size_t at, bytes, n;

	if (m->n < BASE + sizeof(t))
		return;
	bytes = m->n - BASE;
	memcpy(&t, m->p + m->n - sizeof(t), sizeof(t));
	if (t.magic != NATIVE_MAGIC || t.tables_offset > bytes - sizeof(t) ||
	    t.chunks_offset > t.tables_offset || t.tables_bytes > sizeof(raw) ||
	    t.tables_packed != bytes - sizeof(t) - t.tables_offset)
		return;
	n = ZSTD_decompress(raw, sizeof(raw), m->p + BASE + t.tables_offset, t.tables_packed);
	if (ZSTD_isError(n) || n != t.tables_bytes || n < 8)
		return;
	for (uint64_t i = mangle_random(m, 3) + 1; i; i--) {
		uint64_t value = mangle_value(m);

		at = mangle_random(m, mangle_random(m, 2) ? 64 : n) & ~(size_t)3;
		if (at + 4 <= n)
			memcpy(raw + at, &value, 4);
	}
	if (mangle_random(m, 4) == 0 && t.tables_offset > t.chunks_offset)
		mangle_field(m,
			     BASE + t.chunks_offset +
				     mangle_random(m, t.tables_offset - t.chunks_offset),
			     1);
	n = ZSTD_compress(packed, sizeof(packed), raw, n, 1);
	if (ZSTD_isError(n) || BASE + t.tables_offset + n + sizeof(t) > m->max)
		return;
	memcpy(m->p + BASE + t.tables_offset, packed, n);
	t.tables_packed = n;
	t.tables_check = native_check(0, packed, n);
	t.chunks_check = 0;
	for (at = t.chunks_offset; at < t.tables_offset; at += NATIVE_PIECE)
		t.chunks_check = native_check(
			t.chunks_check, m->p + BASE + at,
			t.tables_offset - at < NATIVE_PIECE ? t.tables_offset - at : NATIVE_PIECE);
	t.file_bytes = t.tables_offset + n + sizeof(t);
	t.check = native_check(0, &t, offsetof(struct native_tail, check));
	m->n = BASE + (size_t)t.file_bytes;
	memcpy(m->p + m->n - sizeof(t), &t, sizeof(t));
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
		if (nr)
			mangle_field(m, at[mangle_random(m, nr)] + 4 * mangle_random(m, 4),
				     widths[mangle_random(m, 3)]);
		else
			mangle_any(m);
	}
}

const struct fuzz_target fuzz_dat = {"dat", run, mutate};
