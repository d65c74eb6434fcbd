/* SPDX-License-Identifier: MIT */
/*
 * See dat_native.h. The pages are read again. The calling thread packs them (page_pack.h), 32 of
 * one CPU at a time, and other threads compress them. Costs 1 to 2 ns a record, and 5 to compress
 * it.
 * Tests: tests/unit/reader/test_native.c.
 */
#include "tools/export/dat_native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tools/area/page_pack.h"
#include "tools/base/fail.h"
#include "tools/export/dat_chunks.h"

#define LEVEL 1

/* Write the chunks of all pages. Return: 0 or -errno with fail() set. */
static int write_chunks(const struct dat_file *file, struct reader *r,
			const struct dat_options *opt, uint64_t events, struct chunks *chunks,
			struct page_packer *k)
{
	const struct pages *p = pages_of_reader(r);
	uint64_t share;
	size_t nr = pages_nr_refs(p), i = 0;
	uint64_t page[PAGE_BYTES / 8];
	struct page_calls calls;
	int ret = 0;

	while (!ret && i < nr) {
		unsigned int cpu = pages_ref(p, i)->cpu, in_chunk = 0;
		unsigned char *room = chunks_get(chunks);

		if (!room)
			break;
		page_pack_begin(k);
		while (i < nr && pages_ref(p, i)->cpu == cpu && in_chunk < PACK_PAGES) {
			int is_calls = pages_calls(p, i, &calls);

			ret = is_calls ? is_calls : pages_fetch(p, i, page);
			if (ret < 0)
				return ret;
			share = pages_ref(p, i++)->nr_records / DAT_NATIVE_SHARE;
			events += share;
			dat_progress(opt, r, events, share);
			if (is_calls)
				page_pack_add_calls(k, &calls);
			else
				page_pack_add(k, page);
			in_chunk++;
		}
		chunks_note(chunks, in_chunk);
		ret = chunks_put(chunks, (uint32_t)page_pack_end(k, room));
	}
	ret = chunks_flush(chunks);
	return ret ? dat_file_failed(file, ret) : 0;
}

/* The sizes that chunks_notes() has, as rows of the native tables. */
static struct native_chunk *noted(const struct chunks *chunks, size_t *nr)
{
	const struct chunk_note *note = chunks_notes(chunks, nr);
	struct native_chunk *at = malloc((*nr + 1) * sizeof(*at));

	for (size_t i = 0; at && i < *nr; i++)
		at[i] = (struct native_chunk){.packed = note[i].bytes, .nr_pages = note[i].tag};
	return at;
}

static int write_tail(const struct dat_file *file, const void *tables, size_t bytes,
		      uint64_t *offset, struct native_tail *t)
{
	size_t bound = ZSTD_compressBound(bytes), n;
	ZSTD_CCtx *z = chunks_zstd(LEVEL);
	char *packed = malloc(bound);
	int ret = packed && z ? 0 : -ENOMEM;

	if (!ret) {
		n = ZSTD_compress2(z, packed, bound, tables, bytes);
		if (ZSTD_isError(n))
			ret = -ENOMEM;
	}
	if (!ret) {
		t->tables_offset = *offset;
		t->tables_packed = n;
		t->tables_bytes = bytes;
		t->file_bytes = *offset + n + sizeof(*t);
		ret = dat_file_pwrite(file->fd, packed, n, *offset);
	}
	if (!ret)
		ret = dat_file_pwrite(file->fd, t, sizeof(*t), t->tables_offset + n);
	free(packed);
	ZSTD_freeCCtx(z);
	*offset = t->file_bytes;
	return ret ? dat_file_failed(file, ret) : 0;
}

int dat_native_write(const struct dat_file *file, struct reader *r, const struct dat_options *opt,
		     uint64_t events, const struct native_known *known, uint64_t *offset)
{
	struct native_tail tail = {.magic = NATIVE_MAGIC,
				   .major = NATIVE_MAJOR,
				   .minor = NATIVE_MINOR,
				   .tail_bytes = sizeof(tail),
				   .chunks_offset = *offset};
	const struct pages *p = pages_of_reader(r);
	struct native_chunk *rows = NULL;
	struct page_packer *k;
	struct chunks *chunks;
	void *tables = NULL;
	size_t bytes, nr;
	int ret = -ENOMEM;

	if (!p)
		return 0;
	k = page_packer_new();
	chunks = chunks_new(file->fd, PACK_MAX_BYTES, LEVEL);
	if (k && chunks) {
		chunks_start(chunks, *offset);
		chunks_note(chunks, 0);
		ret = write_chunks(file, r, opt, events, chunks, k);
	} else {
		dat_file_failed(file, ret);
	}
	if (!ret) {
		rows = noted(chunks, &nr);
		*offset = chunks_offset(chunks);
		ret = rows ? native_tables_pack(p, rows, nr, known, &tables, &bytes)
			   : dat_file_failed(file, -ENOMEM);
	}
	if (!ret)
		ret = write_tail(file, tables, bytes, offset, &tail);
	page_packer_free(k);
	chunks_free(chunks);
	free(rows);
	free(tables);
	return ret;
}
